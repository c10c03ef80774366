//! The edges against the real thing: servers on real sockets, real files, real programs.

/// The API server: kubeconfigs, pages of pods, a server that is busy.
#[cfg(feature = "apiserver")]
mod api_server;
/// A kq without the API server says so.
#[cfg(not(feature = "apiserver"))]
mod api_server_off;
/// Reading and writing single files of cgroups: only what is meant, and what the kernel says to it.
mod cgroup_files;
/// Trees of cgroups: complete, changing, broken.
mod cgroup_tree;
/// The container runtime over the CRI: a real containerd, and fakes that fail in every way.
pub mod cri;
/// Device plugins, and the kubelet's pod-resources API.
#[cfg(feature = "cri")]
pub mod device_plugin;
/// Nodes of plain files with a cgroup tree.
#[path = "../../support/cgroup_tree.rs"]
pub mod fake_tree;
/// The gRPC clients and servers are as their .proto files say.
mod generated;
/// The host's files, and the kubelet among its processes.
mod host;
/// Folders of the host: their file systems, what they hold, and what mounts hide.
mod host_folders;
/// The small HTTP client: what a server can do wrong, and that no call outlives its deadline.
mod http;
/// HTTP servers on loopback that answer as a test says, with TLS or without.
pub mod http_server;
/// The file of records of images: replaced as a whole, by one at a time.
mod image_records;
/// The kubelet's own API: trust, credentials, permissions.
mod kubelet_api;
/// The page of what is mirrored.
mod mirrors;
/// Cgroups of the tests' own.
mod own_cgroups;
/// gRPC probes of servers that do what they should not.
mod probe_grpc;
/// HTTP probes: answers that are wrong, endless, slow or hostile, with TLS and without.
mod probe_http;
/// TCP probes of hosts that do not answer, and of names.
mod probe_tcp;
/// Snapshots in files: whole, broken, replaced.
mod snapshot_file;
/// The tables of gates, fields and flags are what the kubelets' sources say.
pub mod versions;
/// Every place of the repository that writes files, against a table.
mod writers;
/// Files that kq writes where another user plants links and pipes.
mod written_files;
