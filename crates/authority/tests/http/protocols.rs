//! HTTP/1.1 and h2c with prior knowledge, on the same port.

use crate::client::{check, serve_memory};
use reqwest::{Client, Version};

#[tokio::test]
async fn both_protocols_are_served_on_one_port() {
    let served = serve_memory().await;
    let url = format!("http://{}/v1/decide", served.addr);
    let h1 = Client::builder().no_proxy().http1_only().build().unwrap();
    let h2c = Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    for (client, version) in [(h1, Version::HTTP_11), (h2c, Version::HTTP_2)] {
        let response = client.post(&url).body(check().to_string()).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, version));
        assert_eq!(response.headers()[weir_wire::ANSWER_MARK], "1");
    }
}
