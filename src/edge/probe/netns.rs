//! Probes from inside the network of a pod.

use crate::edge::input::plain;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Calls a function in a network namespace: `/proc/PID/ns/net`, `/run/netns/NAME`.
///
/// Only a new thread enters the namespace, with the threads that it starts, such as those of an async runtime.
///
/// # Errors
///
/// Fails if the namespace does not exist, or if entering it is not permitted: it needs root.
pub fn in_network_namespace<T: Send>(path: &Path, run: impl FnOnce() -> T + Send) -> io::Result<T> {
    let refused = |error: io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => " (run as root)",
            _ => "",
        };
        let text =
            format!("cannot enter the network of {}: {}{hint}", path.display(), plain(&error));
        io::Error::new(error.kind(), text)
    };
    let namespace = File::open(path).map_err(refused)?;
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), kind)
                .map_err(|errno| refused(errno.into()))?;
            Ok(run())
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> io::Result<std::path::PathBuf> {
        std::fs::read_link("/proc/thread-self/ns/net")
    }

    #[test]
    fn only_another_thread_is_moved() {
        let own = network().expect("there is a network");
        match in_network_namespace(Path::new("/proc/self/ns/net"), network) {
            Ok(inside) => assert_eq!(inside.expect("there is a network"), own),
            // Even the own namespace needs root.
            Err(error) => assert!(error.to_string().ends_with("(run as root)"), "{error}"),
        }
        assert_eq!(network().expect("there is a network"), own);
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for (path, expected) in [
            ("/nowhere", "cannot enter the network of /nowhere: No such file or directory"),
            ("/proc/self/ns/uts", "cannot enter the network of /proc/self/ns/uts: "),
            ("/dev/null", "cannot enter the network of /dev/null: "),
        ] {
            let error = in_network_namespace(Path::new(path), || ()).expect_err(path);
            let text = error.to_string().to_lowercase();
            assert!(text.starts_with(&expected.to_lowercase()), "{text}");
        }
    }
}
