//! SHA-256, by which long texts of the vectors are compared.

/// Returns the digest in hexadecimal digits (FIPS 180-4).
pub fn sha256(bytes: &[u8]) -> String {
    let mut primes = (2_u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
    let primes: Vec<u64> = primes.by_ref().take(64).collect();
    let constants: Vec<u32> = primes.iter().map(|prime| root_bits(*prime, 3)).collect();
    let mut state: Vec<u32> = primes.iter().take(8).map(|prime| root_bits(*prime, 2)).collect();

    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((bytes.len() as u64 * 8).to_be_bytes());
    for block in message.chunks_exact(64) {
        let mut words: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
            .collect();
        for at in 16..64 {
            let (a, b) = (words[at - 15], words[at - 2]);
            let small = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let large = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            let sum = words[at - 16].wrapping_add(small).wrapping_add(words[at - 7]);
            words.push(sum.wrapping_add(large));
        }
        let mut v = state.clone();
        for at in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let first = v[7].wrapping_add(s1).wrapping_add(choice);
            let first = first.wrapping_add(constants[at]).wrapping_add(words[at]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(s0.wrapping_add(majority));
        }
        for (sum, word) in state.iter_mut().zip(v) {
            *sum = sum.wrapping_add(word);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// Returns the first 32 bits after the point of a square or cube root.
fn root_bits(number: u64, degree: u32) -> u32 {
    let scaled = u128::from(number) << (32 * degree);
    let (mut low, mut high) = (0_u128, 1_u128 << 40);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if middle.pow(degree) <= scaled { low = middle } else { high = middle }
    }
    (low & 0xffff_ffff) as u32
}

#[test]
fn digests_are_those_of_the_standard() {
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
