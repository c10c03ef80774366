//! The contents of the file, how the kubelet reads it (`Unmarshal` into the object of `NewDevicesCheckpoint`), the text
//! that is hashed, and the bytes that are written.
//!
//! Today's kubelets reject or ignore the layouts of old ones, so those are only displayed.

use crate::checkpoint::CORRUPT;
use crate::checkpoint::go_dump::{Fnv32, GoDump, PreImage};
use kq_k8s::go_json::{GoBytes, GoJsonError, GoList, decode, go_struct, push_base64, push_string};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Device ids per NUMA node; -1 is "no NUMA node". `None` is Go's nil, which has another checksum than
/// an empty list.
pub type DevicesPerNuma = BTreeMap<i64, Option<Vec<String>>>;

/// The content of the file (`checkpointData`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceCheckpoint {
    /// The devices of each container.
    pub entries: Option<Vec<PodDevicesEntry>>,
    /// The healthy ids of each resource at the time of writing.
    pub registered: Option<BTreeMap<String, Option<Vec<String>>>>,
}

/// The devices of one resource in one container (`PodDevicesEntry`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDevicesEntry {
    pub pod_uid: String,
    pub container_name: String,
    /// The resource: `example.com/gpu`.
    pub resource_name: String,
    pub device_ids: Option<DevicesPerNuma>,
    /// The plugin's `ContainerAllocateResponse` in protobuf.
    pub alloc_resp: Option<Vec<u8>>,
}

/// A file that could be parsed; its checksum may be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its contents.
    pub checkpoint: DeviceCheckpoint,
    /// Its checksum; 0 if absent.
    pub checksum_in_file: u64,
    /// The checksum that it has.
    pub checksum_computed: u32,
}

impl Loaded {
    /// Returns true if the kubelet accepts it.
    pub fn is_valid(&self) -> bool {
        self.checksum_in_file == u64::from(self.checksum_computed)
    }

    /// Returns why the kubelet does not take it, in its words.
    pub fn error(&self) -> Option<&'static str> {
        (!self.is_valid()).then_some(CORRUPT)
    }
}

/// `checkpoint.Data`: the file.
#[derive(Default)]
struct File {
    data: Content,
    checksum: u64,
}

/// `checkpoint.checkpointData`. Lists that the file does not name are there and empty.
struct Content {
    entries: GoList<Entry>,
    registered: Option<BTreeMap<String, Option<Vec<String>>>>,
}

/// `checkpoint.PodDevicesEntry`
#[derive(Default)]
struct Entry {
    pod_uid: String,
    container_name: String,
    resource_name: String,
    device_ids: Option<DevicesPerNuma>,
    alloc_resp: GoBytes,
}

impl Default for Content {
    fn default() -> Self {
        Self { entries: GoList::empty(), registered: Some(BTreeMap::new()) }
    }
}

go_struct!(File = "checkpoint.Data" {
    "Data" => data,
    "Checksum" => checksum: "checksum.Checksum",
});

go_struct!(Content = "checkpoint.checkpointData" {
    "PodDeviceEntries" => entries,
    "RegisteredDevices" => registered,
});

go_struct!(Entry = "checkpoint.PodDevicesEntry" {
    "PodUID" => pod_uid,
    "ContainerName" => container_name,
    "ResourceName" => resource_name,
    "DeviceIDs" => device_ids: "checkpoint.DevicesPerNUMA",
    "AllocResp" => alloc_resp,
});

impl From<Entry> for PodDevicesEntry {
    fn from(entry: Entry) -> Self {
        Self {
            pod_uid: entry.pod_uid,
            container_name: entry.container_name,
            resource_name: entry.resource_name,
            device_ids: entry.device_ids,
            alloc_resp: entry.alloc_resp.into_option(),
        }
    }
}

impl DeviceCheckpoint {
    /// Reads the bytes of a file. The checksum is computed and not judged: [`Loaded::is_valid`].
    /// Fails as the kubelet does, in its words.
    pub fn parse(bytes: &[u8]) -> Result<Loaded, GoJsonError> {
        let mut file = File::default();
        decode(bytes, &mut file)?;
        let entries = file.data.entries.into_option();
        let checkpoint = Self {
            entries: entries.map(|entries| entries.into_iter().map(Into::into).collect()),
            registered: file.data.registered,
        };
        let checksum_computed = checkpoint.checksum();
        Ok(Loaded { checkpoint, checksum_in_file: file.checksum, checksum_computed })
    }

    /// Returns true if the kubelet accepts the bytes of a file.
    pub fn is_taken(bytes: &[u8]) -> bool {
        Self::parse(bytes).is_ok_and(|loaded| loaded.is_valid())
    }
}

impl PodDevicesEntry {
    /// Reads the text of one entry, as it stands in the file's list.
    /// Fails as the kubelet does with an entry alone.
    pub fn parse(bytes: &[u8]) -> Result<Self, GoJsonError> {
        let mut entry = Entry::default();
        decode(bytes, &mut entry)?;
        Ok(entry.into())
    }
}

/// A file of a kubelet of 1.19 or older: ids in a flat list; before checksums were introduced, without
/// `Data` around it.
#[derive(Default)]
struct OldFile {
    data: OldContent,
    bare: OldContent,
}

#[derive(Default)]
struct OldContent {
    entries: GoList<OldEntry>,
    registered: Option<BTreeMap<String, Option<Vec<String>>>>,
}

#[derive(Default)]
struct OldEntry {
    pod_uid: String,
    container_name: String,
    resource_name: String,
    device_ids: Option<Vec<String>>,
    alloc_resp: GoBytes,
}

go_struct!(OldFile = "checkpoint.Data" {
    "Data" => data,
    "PodDeviceEntries" => bare.entries,
    "RegisteredDevices" => bare.registered,
});

go_struct!(OldContent = "checkpoint.checkpointData" {
    "PodDeviceEntries" => entries,
    "RegisteredDevices" => registered,
});

go_struct!(OldEntry = "checkpoint.PodDevicesEntry" {
    "PodUID" => pod_uid,
    "ContainerName" => container_name,
    "ResourceName" => resource_name,
    "DeviceIDs" => device_ids,
    "AllocResp" => alloc_resp,
});

impl DeviceCheckpoint {
    /// Reads a file of a kubelet of 1.19 or older; its devices stand under -1, since it knew no NUMA
    /// nodes. `None`: not such a file.
    pub fn parse_old_layout(bytes: &[u8]) -> Option<Self> {
        let mut file = OldFile::default();
        decode(bytes, &mut file).ok()?;
        let of = |content: OldContent| {
            let entries = content.entries.into_option().unwrap_or_default();
            let is_old = entries.iter().any(|entry| entry.device_ids.is_some());
            is_old.then(|| Self {
                entries: Some(entries.into_iter().map(Into::into).collect()),
                registered: content.registered,
            })
        };
        of(file.data).or_else(|| of(file.bare))
    }
}

impl From<OldEntry> for PodDevicesEntry {
    fn from(entry: OldEntry) -> Self {
        Self {
            pod_uid: entry.pod_uid,
            container_name: entry.container_name,
            resource_name: entry.resource_name,
            device_ids: entry.device_ids.map(|ids| [(-1, Some(ids))].into()),
            alloc_resp: entry.alloc_resp.into_option(),
        }
    }
}

impl PodDevicesEntry {
    /// Reads the text of one entry with a flat list of ids. `None`: it is none.
    pub fn parse_old_layout(bytes: &[u8]) -> Option<Self> {
        let mut entry = OldEntry::default();
        decode(bytes, &mut entry).ok()?;
        entry.device_ids.is_some().then(|| entry.into())
    }
}

impl DeviceCheckpoint {
    /// Adds the text that is hashed: that of `checkpointData`, not of the whole file.
    pub fn pre_image<P: PreImage>(&self, out: &mut P) {
        let mut dump = GoDump::new(out);
        dump.scalar("checkpoint.checkpointData", "{PodDeviceEntries:");
        dump.list("[]checkpoint.PodDevicesEntry", self.entries.as_ref(), dump_entry);
        dump.mark(" RegisteredDevices:");
        dump.map("map[string][]string", self.registered.as_ref(), |dump, ids| {
            dump_ids(dump, ids.as_ref());
        });
        dump.mark("}");
    }

    pub fn checksum(&self) -> u32 {
        let mut sum = Fnv32::default();
        self.pre_image(&mut sum);
        sum.sum()
    }

    /// Returns the bytes of the file, with its checksum (`MarshalCheckpoint`).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut json = "{\"Data\":{\"PodDeviceEntries\":".to_owned();
        match &self.entries {
            None => json.push_str("null"),
            Some(entries) => write_list(&mut json, entries, write_entry),
        }
        json.push_str(",\"RegisteredDevices\":");
        match &self.registered {
            None => json.push_str("null"),
            Some(registered) => {
                write_map(&mut json, registered.iter().map(|(key, ids)| (&**key, ids)))
            }
        }
        let _ = write!(json, "}},\"Checksum\":{}}}", self.checksum());
        json.into_bytes()
    }
}

/// The numbers of all bytes: answers of plugins are the most of a text that is hashed.
static BYTES: LazyLock<[String; 256]> =
    LazyLock::new(|| std::array::from_fn(|byte| byte.to_string()));

fn dump_entry<P: PreImage>(dump: &mut GoDump<'_, P>, entry: &PodDevicesEntry) {
    dump.scalar("checkpoint.PodDevicesEntry", "{");
    for (name, value) in [
        ("PodUID:", &entry.pod_uid),
        (" ContainerName:", &entry.container_name),
        (" ResourceName:", &entry.resource_name),
    ] {
        dump.mark(name);
        dump.scalar("string", value);
    }
    dump.mark(" DeviceIDs:");
    dump.map("checkpoint.DevicesPerNUMA", entry.device_ids.as_ref(), |dump, ids| {
        dump_ids(dump, ids.as_ref());
    });
    dump.mark(" AllocResp:");
    dump.list("[]uint8", entry.alloc_resp.as_ref(), |dump, byte| {
        dump.scalar("uint8", &BYTES[usize::from(*byte)]);
    });
    dump.mark("}");
}

fn dump_ids<P: PreImage>(dump: &mut GoDump<'_, P>, ids: Option<&Vec<String>>) {
    dump.list("[]string", ids, |dump, id| dump.scalar("string", id));
}

fn write_entry(json: &mut String, entry: &PodDevicesEntry) {
    for (name, value) in [
        ("{\"PodUID\":", &entry.pod_uid),
        (",\"ContainerName\":", &entry.container_name),
        (",\"ResourceName\":", &entry.resource_name),
    ] {
        json.push_str(name);
        push_string(value, json);
    }
    json.push_str(",\"DeviceIDs\":");
    match &entry.device_ids {
        None => json.push_str("null"),
        Some(map) => write_nodes(json, map),
    }
    json.push_str(",\"AllocResp\":");
    match &entry.alloc_resp {
        None => json.push_str("null"),
        Some(bytes) => push_base64(bytes, json),
    }
    json.push('}');
}

/// Writes devices per node; the keys of a map are sorted as text.
fn write_nodes(json: &mut String, map: &DevicesPerNuma) {
    let sorted: BTreeMap<String, _> =
        map.iter().map(|(node, ids)| (node.to_string(), ids)).collect();
    write_map(json, sorted.iter().map(|(node, ids)| (&**node, *ids)));
}

fn write_map<'m>(json: &mut String, map: impl Iterator<Item = (&'m str, &'m Option<Vec<String>>)>) {
    json.push('{');
    for (index, (key, ids)) in map.enumerate() {
        if index > 0 {
            json.push(',');
        }
        push_string(key, json);
        json.push(':');
        match ids {
            None => json.push_str("null"),
            Some(ids) => write_list(json, ids, |json, id| push_string(id, json)),
        }
    }
    json.push('}');
}

fn write_list<T>(json: &mut String, list: &[T], mut write: impl FnMut(&mut String, &T)) {
    json.push('[');
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write(json, element);
    }
    json.push(']');
}
