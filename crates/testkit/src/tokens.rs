//! A development identity provider: a key pair in `.tools/dev`, and the tokens that it signs.
//!
//! The keys are made on first use and never committed; the private one is readable by its owner only. They are for trying
//! things out on one machine, and for tests.

use std::{
    fs,
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use p256::{
    ecdsa::{Signature, SigningKey, signature::Signer},
    elliptic_curve::Generate,
    pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding},
};
use serde_json::{Map, Value, json};

use crate::{Error, Result, repository};

/// The issuer that `envoy/standalone/envoy.yaml` trusts.
pub const ISSUER: &str = "https://northstar.example";

const COORDINATE_BYTES: usize = 32;
const KEY_ID: &str = "development";
const VALID_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A key pair that signs tokens (ES256).
#[derive(Clone)]
pub struct Keys {
    signing: SigningKey,
    jwks: PathBuf,
}

impl Keys {
    /// The keys in `.tools/dev` of this repository, made on first use.
    ///
    /// # Errors
    /// As [`Keys::in_dir`].
    pub fn development() -> Result<Self> {
        Self::in_dir(&repository::root().join(".tools/dev"))
    }

    /// The keys in a directory, made on first use: `private.pem` and `jwks.json`.
    ///
    /// # Errors
    /// [`Error::File`] when a file cannot be read or written, [`Error::Key`] when the private key is none.
    pub fn in_dir(dir: &Path) -> Result<Self> {
        let (private, jwks) = (dir.join("private.pem"), dir.join("jwks.json"));
        fs::create_dir_all(dir).map_err(Error::file(dir))?;
        let signing = read_or_make(&private)?;
        let keys = Self { signing, jwks };
        let wanted = keys.jwks_document().to_string();
        if fs::read_to_string(&keys.jwks).ok().as_deref() != Some(&wanted) {
            write_whole(&keys.jwks, wanted.as_bytes(), 0o644)?;
        }
        Ok(keys)
    }

    /// The public keys, as Envoy's `local_jwks` reads them.
    #[must_use]
    pub fn jwks_path(&self) -> &Path {
        &self.jwks
    }

    /// A token for a user of a tenant, valid for a day.
    #[must_use]
    pub fn token(&self, tenant: &str, user: &str) -> String {
        self.claims().claim("tenant", tenant).claim("sub", user).sign()
    }

    /// A token yet without `sub` and `tenant`, for claims of any kind.
    #[must_use]
    pub fn claims(&self) -> Claims<'_> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let expires = (now + VALID_FOR).as_secs();
        let claims = [("iss", json!(ISSUER)), ("iat", json!(now.as_secs())), ("exp", json!(expires))];
        Claims { keys: self, claims: claims.map(|(name, value)| (name.to_owned(), value)).into_iter().collect() }
    }

    fn jwks_document(&self) -> Value {
        // Uncompressed: a byte that says so, then both coordinates.
        let point = self.signing.verifying_key().to_sec1_point(false);
        let (x, y) = point.as_bytes()[1..].split_at(COORDINATE_BYTES);
        json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": KEY_ID,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }] })
    }
}

/// A token in the making.
#[derive(Clone)]
pub struct Claims<'a> {
    keys: &'a Keys,
    claims: Map<String, Value>,
}

impl Claims<'_> {
    /// Sets a claim to a value of any kind: a name, a number, a list, `Value::Null`.
    #[must_use]
    pub fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.claims.insert(name.to_owned(), value.into());
        self
    }

    /// Takes a claim out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.claims.remove(name);
        self
    }

    /// The signed token.
    #[must_use]
    pub fn sign(&self) -> String {
        let header = json!({ "alg": "ES256", "typ": "JWT", "kid": KEY_ID }).to_string();
        let payload = Value::Object(self.claims.clone()).to_string();
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
        let signature: Signature = self.keys.signing.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }
}

fn read_or_make(path: &Path) -> Result<SigningKey> {
    if !path.exists() {
        let made = SigningKey::generate().to_pkcs8_pem(LineEnding::LF).map_err(|error| Error::key(path, error))?;
        write_whole(path, made.as_bytes(), 0o600)?;
    }
    // Read back in any case: of two processes that make one at the same time, both use the one that stayed.
    let pem = fs::read_to_string(path).map_err(Error::file(path))?;
    SigningKey::from_pkcs8_pem(&pem).map_err(|error| Error::key(path, error))
}

/// Writes a file so that no reader ever sees half of it. A private file that is there already stays as it is.
fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .make_in(dir, |path| fs::File::options().write(true).create_new(true).mode(mode).open(path))
        .map_err(Error::file(dir))?;
    file.write_all(bytes).map_err(Error::file(path))?;
    let kept = if mode == 0o600 { file.persist_noclobber(path) } else { file.persist(path) };
    match kept {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(Error::file(path)(error.error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use p256::ecdsa::signature::Verifier;

    use super::*;

    #[test]
    fn keys_are_made_once_and_the_private_one_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let first = Keys::in_dir(dir.path()).unwrap();
        let second = Keys::in_dir(dir.path()).unwrap();
        assert_eq!(first.signing, second.signing);
        let mode = fs::metadata(dir.path().join("private.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_token_carries_its_claims_and_a_good_signature() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::in_dir(dir.path()).unwrap();
        let token = keys.claims().claim("sub", 17).claim("tenant", Value::Null).without("iat").sign();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        keys.signing.verifying_key().verify(signed.as_bytes(), &signature).unwrap();
        let payload: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap()).unwrap();
        assert_eq!((&payload["sub"], &payload["tenant"], payload.get("iat")), (&json!(17), &Value::Null, None));
    }
}
