//! Random numbers of the system.

use ring::rand::{SecureRandom, SystemRandom};
use std::io;

/// Returns 32 hexadecimal digits that no other process can know or guess.
/// Fails where the system has no random numbers.
pub fn secret() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_comes_twice() {
        let (one, other) = (secret().expect("a secret"), secret().expect("a secret"));
        assert!(one != other && one.len() == 32 && other.len() == 32, "{one} {other}");
    }
}
