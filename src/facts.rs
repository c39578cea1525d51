//! What can be asked about a request. Everything that comes back is hostile until parsed.

/// A request as the host shows it. Its headers can only be read while they are being processed.
pub trait Facts {
    /// The first value of a header, as bytes: clients send what they like.
    fn header(&self, name: &str) -> Option<Vec<u8>>;

    /// An attribute of the request, the connection or the proxy's configuration, as bytes.
    fn property(&self, path: &[&str]) -> Option<Vec<u8>>;
}

/// A header as text. A byte that is not UTF-8 becomes U+FFFD, so that it cannot make the rest of the text vanish: a
/// path that is no path would match no route.
#[must_use]
pub fn header_text(facts: &dyn Facts, name: &str) -> Option<String> {
    facts.header(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
