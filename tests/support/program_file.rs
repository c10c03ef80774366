//! Files of programs with a version, as compilers lay them out: ELF files that have the sections kq reads, and nothing
//! that could run.

/// A program in Go.
pub struct GoProgram<'t> {
    /// The main package.
    pub package: &'t str,
    /// The version of the main module.
    pub module: &'t str,
    /// The linker's flags; `None`: built with `-trimpath`.
    pub flags: Option<&'t str>,
    /// The constants.
    pub constants: &'t [u8],
}

impl GoProgram<'_> {
    /// Returns its file.
    pub fn file(&self) -> Vec<u8> {
        let mut module = format!("path\t{}\nmod\tmodule\t{}\t\n", self.package, self.module);
        module.push_str("dep\tgithub.com/other\tv9.9.9\th1:x\nbuild\t-trimpath=true\n");
        module.extend(self.flags.map(|flags| format!("build\t-ldflags={flags:?}\n")));
        let module = [&[7; 16], module.as_bytes(), &[8; 16]].concat();
        let mut info = [b"\xff Go buildinf:".as_slice(), &[8, 2], &[0; 16]].concat();
        for text in [b"go1.25.1".as_slice(), &module] {
            let mut length = text.len();
            while length >= 0x80 {
                info.push((length & 0x7f) as u8 | 0x80);
                length >>= 7;
            }
            info.push(length as u8);
            info.extend(text);
        }
        elf(&[(".rodata", self.constants), (".go.buildinfo", &info)])
    }
}

/// Returns the file of the kubelet of a version, built as its releases are.
pub fn kubelet(version: &str) -> Vec<u8> {
    let constants = format!("sync.Pool\0\0\0?{version}\0\0\0\0\0\0clean\0\0\0{version}\0");
    let package = "k8s.io/kubernetes/cmd/kubelet";
    GoProgram { package, module: "(devel)", flags: None, constants: constants.as_bytes() }.file()
}

/// Returns the file of runc of a version, built as its releases are.
pub fn runc(version: &str) -> Vec<u8> {
    let constants = format!("sse42ssse3{version}\nStringFormat\0\0\0v{version}-0-gd842d771\0\0\0");
    let package = "github.com/opencontainers/runc";
    GoProgram { package, module: "(devel)", flags: None, constants: constants.as_bytes() }.file()
}

/// Returns the file of crun of a version.
pub fn crun(version: &str) -> Vec<u8> {
    let constants = format!(
        "ociVersion\x001.0\0please specify a command\0{version}\0%s version %s\n\0commit: %s\n\x001.0.0\0"
    );
    elf(&[(".rodata", constants.as_bytes())])
}

/// Returns an ELF file for 64 bits, little-endian, with these sections.
pub fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = b"\0.shstrtab\0".to_vec();
    let mut content: Vec<u8> = Vec::new();
    // The name, the type and the place of each; SHT_PROGBITS is 1, SHT_STRTAB 3.
    let mut headers = vec![(0_u32, 0_u32, 0_u64, 0_u64)];
    for (name, bytes) in sections {
        headers.push((names.len() as u32, 1, 64 + content.len() as u64, bytes.len() as u64));
        names.extend(name.as_bytes());
        names.push(0);
        content.extend(*bytes);
    }
    headers.push((1, 3, 64 + content.len() as u64, names.len() as u64));
    content.extend(&names);
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend((64 + content.len() as u64).to_le_bytes());
    file.extend([0; 10]);
    for short in [64, headers.len() as u16, headers.len() as u16 - 1] {
        file.extend(short.to_le_bytes());
    }
    file.extend(content);
    for (name, kind, offset, size) in headers {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend([0; 16]);
        file.extend(offset.to_le_bytes());
        file.extend(size.to_le_bytes());
        file.extend([0; 24]);
    }
    file
}
