//! Passwords: hashed by argon2id, away from the threads that serve requests, a few at a time.

use crate::errors::Refusal;
use argon2::password_hash::{PasswordHash, SaltString};
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Memory in KiB, passes and lanes: what the OWASP Password Storage Cheat Sheet names first for argon2id (19 MiB, 2, 1).
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);

/// The shortest password. NIST SP 800-63B, section 5.1.1.2, asks for 8 and for no rules about its characters.
pub(crate) const SHORTEST: usize = 8;

/// The longest, in bytes.
pub(crate) const LONGEST: usize = 256;

/// How long a sign-in waits for those before it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Computes hashes, at most so many at a time: each takes 19 MiB and some 20 ms of a CPU, and a crowd that signs in must leave the service
/// able to do something else.
#[derive(Debug)]
pub(crate) struct Passwords {
    places: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Passwords {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Passwords { places: Arc::new(Semaphore::new((cpus / 2).clamp(1, 4))) }
    }
}

fn argon2() -> Argon2<'static> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn hash(password: &str) -> Result<String, Refusal> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)?;
    let salt = SaltString::encode_b64(&salt).map_err(|e| Refusal::Fault(format!("salt: {e}")))?;
    let hash = argon2().hash_password(password.as_bytes(), &salt);
    Ok(hash.map_err(|e| Refusal::Fault(format!("hashing a password: {e}")))?.to_string())
}

fn verify(password: &str, hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    argon2().verify_password(password.as_bytes(), &hash).is_ok()
}

/// The hash of a password nobody has.
fn nobodys() -> Result<&'static str, Refusal> {
    static HASH: OnceLock<String> = OnceLock::new();
    if let Some(known) = HASH.get() {
        return Ok(known);
    }
    let fresh = hash(&crate::secret::secret()?)?;
    Ok(HASH.get_or_init(|| fresh))
}

impl Passwords {
    async fn away<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = tokio::time::timeout(PATIENCE, self.places.clone().acquire_owned());
        let Ok(Ok(place)) = place.await else { return Err(Refusal::TooMany(PATIENCE.as_secs())) };
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        });
        done.await.map_err(|e| Refusal::Fault(format!("password: {e}")))?
    }

    /// The hash of a password, as it is stored.
    ///
    /// # Errors
    /// [`Refusal::TooMany`] where too many wait.
    pub(crate) async fn hash(&self, password: &str) -> Result<String, Refusal> {
        let password = password.to_string();
        self.away(move || hash(&password)).await
    }

    /// Whether this is the password of this hash. Without a hash the same work is done, so that the time does not tell which users there are.
    ///
    /// # Errors
    /// [`Refusal::TooMany`] where too many wait.
    pub(crate) async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, Refusal> {
        let (password, hash) = (password.to_string(), hash.map(String::from));
        self.away(move || match hash {
            Some(hash) => Ok(verify(&password, &hash)),
            None => {
                std::hint::black_box(verify(&password, nobodys()?));
                Ok(false)
            }
        })
        .await
    }
}

/// Refuses a password that is too short, too long, or the name it is for.
pub(crate) fn acceptable(password: &str, name: &str) -> Result<(), Refusal> {
    let why = match password.chars().count() {
        n if n < SHORTEST => format!("password: at least {SHORTEST} characters are needed"),
        _ if password.len() > LONGEST => format!("password: at most {LONGEST} bytes"),
        _ if password.eq_ignore_ascii_case(name) => "password: it must not be the name".into(),
        _ => return Ok(()),
    };
    Err(Refusal::Bad(why))
}

/// Letters and digits that are not mistaken for each other on paper: 32, so that each is five random bits.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A password to be handed out on paper: 60 random bits in three groups.
pub(crate) fn generated() -> Result<String, Refusal> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)?;
    let letters: Vec<u8> = bytes.iter().map(|byte| ALPHABET[usize::from(byte & 31)]).collect();
    Ok(letters.chunks(4).map(String::from_utf8_lossy).collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn passwords_are_verified() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash("correct horse").await.unwrap());
        let check = async |password, hash, good| {
            assert_eq!(passwords.verify(password, hash).await.unwrap(), good, "{password} {hash:?}");
        };
        check("correct horse", Some(hash.as_str()), true).await;
        check("correct horse ", Some(hash.as_str()), false).await;
        check("", Some(hash.as_str()), false).await;
        check("correct horse", Some("plain"), false).await;
        check("correct horse", None, false).await;
    }

    #[test]
    fn poor_passwords_are_refused() {
        let check = |password: &str, good| assert_eq!(acceptable(password, "charlotte").is_ok(), good);
        check("1234567", false);
        check("12345678", true);
        check("пароль12", true);
        check("Charlotte", false);
        check(&"x".repeat(257), false);
    }

    #[test]
    fn generated_passwords_are_readable() {
        let one = generated().unwrap();
        assert_eq!(one.len(), 14);
        assert!(one.bytes().all(|b| b == b'-' || ALPHABET.contains(&b)), "{one}");
        assert_ne!(one, generated().unwrap());
    }
}
