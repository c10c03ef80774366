//! An archive of images in the OCI layout, which every containerd imports; no registry is contacted.
//!
//! What is in the layers cannot be compressed, so an image takes the room that its size says.

use serde_json::{Value, json};
use std::collections::BTreeMap;

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// What a file in an archive is padded to.
const BLOCK: usize = 512;

/// Images on their way into a runtime.
#[derive(Default)]
pub struct Archive {
    /// Everything that has a digest, under it.
    blobs: BTreeMap<String, Vec<u8>>,
    /// The manifests, each under a name by which the runtime shall know it.
    named: Vec<Value>,
}

/// An image in an archive.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The digest of its configuration, which is the CRI's id of it.
    pub id: String,
    /// The digest of its manifest, which is what a reference with a digest has.
    pub digest: String,
    /// The bytes of its manifest, its configuration and all of its layers.
    pub size: u64,
    manifest: Value,
}

impl Archive {
    /// Adds an image of layers of a name and of so many KiB; the same ones are the same layer.
    pub fn add(&mut self, name: &str, layers: &[(&str, usize)]) -> Stored {
        let layers: Vec<Value> = layers
            .iter()
            .map(|(layer, kib)| self.store(LAYER, tar(&[(layer, &noise(layer, kib * 1024))])))
            .collect();
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            // The name makes two images of images with the same layers.
            "config": { "Cmd": ["/busybox", "sleep", "86400"], "Labels": { "name": name } },
            "rootfs": {
                "type": "layers",
                "diff_ids": layers.iter().map(|layer| &layer["digest"]).collect::<Vec<_>>(),
            },
        });
        let config = self.store(CONFIG, config.to_string().into_bytes());
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
        });
        let manifest = self.store(MANIFEST, manifest.to_string().into_bytes());
        let parts = layers.iter().chain([&config, &manifest]);
        Stored {
            id: text(&config["digest"]),
            digest: text(&manifest["digest"]),
            size: parts.filter_map(|part| part["size"].as_u64()).sum(),
            manifest,
        }
    }

    /// Gives an image a name: a tag, or a reference with a digest.
    pub fn name(&mut self, image: &Stored, name: &str) {
        let mut manifest = image.manifest.clone();
        manifest["annotations"] = json!({ "io.containerd.image.name": name });
        self.named.push(manifest);
    }

    /// Returns the archive as one file.
    pub fn into_tar(self) -> Vec<u8> {
        let index = json!({ "schemaVersion": 2, "manifests": self.named }).to_string();
        let blobs: Vec<(String, &Vec<u8>)> = self
            .blobs
            .iter()
            .map(|(digest, bytes)| (format!("blobs/{}", digest.replace(':', "/")), bytes))
            .collect();
        let mut files: Vec<(&str, &[u8])> =
            vec![("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)];
        files.push(("index.json", index.as_bytes()));
        files.extend(blobs.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));
        tar(&files)
    }

    /// Keeps bytes under their digest and returns what describes them.
    fn store(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = digest(&bytes);
        let size = bytes.len();
        self.blobs.insert(digest.clone(), bytes);
        json!({ "mediaType": media_type, "digest": digest, "size": size })
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a digest is a text").to_owned()
}

/// Returns the SHA-256 of bytes as a digest; the one of the cryptography that kq has for TLS.
fn digest(bytes: &[u8]) -> String {
    let suite = rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let suite = suite.tls13().expect("it is a suite of TLS 1.3");
    let hash = suite.common.hash_provider.hash(bytes);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Returns bytes that depend on nothing but a name and are as good as random (xorshift).
fn noise(name: &str, length: usize) -> Vec<u8> {
    let mut state = name
        .bytes()
        .fold(0x9E37_79B9_7F4A_7C15_u64, |state, byte| state.rotate_left(9) ^ u64::from(byte));
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Returns an archive of plain files, in the POSIX format.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (path, bytes) in files {
        let mut header = [0_u8; BLOCK];
        let mut put = |at: usize, text: &str| {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        assert!(path.len() < 100, "{path} is too long");
        put(0, path);
        put(100, "0000644\0");
        put(108, "0000000\0");
        put(116, "0000000\0");
        put(124, &format!("{:011o}\0", bytes.len()));
        put(136, "00000000000\0");
        // The sum counts itself as blanks.
        put(148, "        ");
        put(156, "0");
        put(257, "ustar\x0000");
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}
