//! Stories that hold wherever it is counted.

/// Makes two tests of each `async fn story(store: Store)` beside it: `in_memory::story` and `on_redis::story`.
macro_rules! on_both_stores {
    ($($story:ident),+ $(,)?) => {
        mod in_memory {
            $(#[tokio::test]
            async fn $story() {
                super::$story(weir_testkit::stack::Store::Memory).await;
            })+
        }
        mod on_redis {
            $(#[tokio::test]
            async fn $story() {
                super::$story(weir_testkit::stack::Store::Redis).await;
            })+
        }
    };
}
