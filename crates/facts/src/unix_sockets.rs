//! The unix sockets of a node, as `/proc/net/unix` lists them: who listens, and how many are connected.
//!
//! The kernel writes a line per socket: address, references, protocol, flags, type, state, inode and, where
//! it has one, the path to which it was bound. The socket that `accept` returns has the path of the one
//! that listens, so connections to a plugin can be counted without opening one.

use serde::Serialize;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnixSocket {
    /// It accepts connections (`__SO_ACCEPTCON`).
    pub listens: bool,
    /// It is connected (`SS_CONNECTED`).
    pub connected: bool,
    /// Its inode, as `/proc/PID/fd` names it.
    pub inode: u64,
    /// The path by which it was bound.
    pub path: Option<String>,
}

/// `__SO_ACCEPTCON`
const ACCEPTS: u32 = 1 << 16;

/// `SS_CONNECTED`
const CONNECTED: u32 = 3;

/// Reads the table; a line that is not understood is passed over, as the heading is.
pub fn parse(text: &str) -> Vec<UnixSocket> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<UnixSocket> {
    let mut rest = line;
    let mut fields = [""; 7];
    for field in &mut fields {
        rest = rest.trim_start();
        let end = rest.find(' ').unwrap_or(rest.len());
        (*field, rest) = rest.split_at(end);
    }
    let [address, _, _, flags, _, state, inode] = fields;
    if !address.ends_with(':') {
        return None;
    }
    let path = rest.strip_prefix(' ').filter(|path| !path.is_empty());
    Some(UnixSocket {
        listens: u32::from_str_radix(flags, 16).ok()? & ACCEPTS != 0,
        connected: u32::from_str_radix(state, 16).ok()? == CONNECTED,
        inode: inode.parse().ok()?,
        path: path.map(str::to_owned),
    })
}

/// A process.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub command: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let text = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 21714 /var/lib/kubelet/device-plugins/gpu.sock
ffff8a0012345678: 00000003 00000000 00000000 0001 03   318 /a folder/x.sock
0000000000000000: 00000003 00000000 00000000 0001 03 29418
0000000000000000: 00000002 00000000 00000000 0002 01 100 @abstract
0000000000000000: zz
";
        let socket = |listens, connected, inode, path: Option<&str>| UnixSocket {
            listens,
            connected,
            inode,
            path: path.map(str::to_owned),
        };
        let expected = [
            socket(true, false, 21714, Some("/var/lib/kubelet/device-plugins/gpu.sock")),
            socket(false, true, 318, Some("/a folder/x.sock")),
            socket(false, true, 29418, None),
            socket(false, false, 100, Some("@abstract")),
        ];
        assert_eq!(parse(text), expected);
        assert_eq!(parse(""), []);
    }
}
