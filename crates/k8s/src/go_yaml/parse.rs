//! Tokens to nodes (`parserc.go`, and the parser of `decode.go`).

use super::scan::{Scanner, Token, TokenKind};
use super::source::Mark;
use super::{GoYamlError, MAX_DEPTH, parse_error};
use std::collections::BTreeMap;

/// The tags that every document knows.
const DEFAULT_TAGS: [(&str, &str); 2] = [("!", "!"), ("!!", "tag:yaml.org,2002:")];

/// A node of a document.
pub(super) struct Node {
    /// Its line, counted from 0.
    pub line: usize,
    pub kind: NodeKind,
}

/// What a node is; others are named by their number.
pub(super) enum NodeKind {
    Scalar { text: String, tag: String, is_implicit: bool },
    Sequence(Vec<usize>),
    Mapping(Vec<(usize, usize)>),
    Alias { name: String, target: usize },
}

/// The nodes of a document; the last one is none of them where the text has no document.
#[derive(Default)]
pub(super) struct Nodes {
    pub nodes: Vec<Node>,
    pub root: Option<usize>,
}

/// What stands in front of the content of a node.
struct Properties {
    start: Mark,
    anchor: Option<String>,
    tag: String,
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    nodes: Vec<Node>,
    anchors: BTreeMap<String, usize>,
    tags: Vec<(String, String)>,
    depth: usize,
}

/// Reads the first document.
pub(super) fn document(bytes: &[u8]) -> Result<Nodes, GoYamlError> {
    let mut parser = Parser {
        scanner: Scanner::new(bytes)?,
        nodes: Vec::new(),
        anchors: BTreeMap::new(),
        tags: Vec::new(),
        depth: 0,
    };
    let token = parser.scanner.peek()?.clone();
    let root = match token.kind {
        TokenKind::StreamEnd => return Ok(Nodes::default()),
        TokenKind::Version { .. } | TokenKind::TagDirective { .. } | TokenKind::DocumentStart => {
            parser.directives()?;
            let token = parser.scanner.take()?;
            if token.kind != TokenKind::DocumentStart {
                return Err(parse_error(
                    "did not find expected <document start>",
                    token.start.line,
                ));
            }
            parser.document_content()?
        }
        _ => {
            parser.directives()?;
            parser.node(true, false)?
        }
    };
    // The end of the document is looked for, which can fail.
    parser.scanner.peek()?;
    Ok(Nodes { nodes: parser.nodes, root: Some(root) })
}

impl Parser<'_> {
    fn next(&mut self) -> Result<(TokenKind, Mark), GoYamlError> {
        let token = self.scanner.peek()?;
        Ok((token.kind.clone(), token.start))
    }

    /// Returns true if the next token is one of these.
    fn is_next(&mut self, kinds: &[TokenKind]) -> Result<bool, GoYamlError> {
        Ok(kinds.contains(&self.scanner.peek()?.kind))
    }

    fn directives(&mut self) -> Result<(), GoYamlError> {
        let mut has_version = false;
        loop {
            let Token { kind, start, .. } = self.scanner.peek()?.clone();
            match kind {
                TokenKind::Version { .. } if has_version => {
                    return Err(parse_error("found duplicate %YAML directive", start.line));
                }
                TokenKind::Version { major: 1, minor: 1 } => has_version = true,
                TokenKind::Version { .. } => {
                    return Err(parse_error("found incompatible YAML document", start.line));
                }
                TokenKind::TagDirective { handle, prefix } => {
                    if self.tags.iter().any(|(known, _)| *known == handle) {
                        return Err(parse_error("found duplicate %TAG directive", start.line));
                    }
                    self.tags.push((handle, prefix));
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        let defaults = DEFAULT_TAGS.map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned()));
        self.tags.extend(defaults);
        Ok(())
    }

    fn document_content(&mut self) -> Result<usize, GoYamlError> {
        let (kind, start) = self.next()?;
        match kind {
            TokenKind::Version { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => Ok(self.empty(start)),
            _ => self.node(true, false),
        }
    }

    fn add(&mut self, line: usize, kind: NodeKind) -> usize {
        self.nodes.push(Node { line, kind });
        self.nodes.len() - 1
    }

    /// Adds the value of a key without one.
    fn empty(&mut self, at: Mark) -> usize {
        let (text, tag) = (String::new(), String::new());
        self.add(at.line, NodeKind::Scalar { text, tag, is_implicit: true })
    }

    fn properties(&mut self) -> Result<Properties, GoYamlError> {
        let (_, start) = self.next()?;
        let mut properties = Properties { start, anchor: None, tag: String::new() };
        let (mut has_anchor, mut tag) = (false, None);
        loop {
            match self.next()? {
                (TokenKind::Anchor(name), _) if !has_anchor => {
                    properties.anchor = Some(name);
                    has_anchor = true;
                }
                (TokenKind::Tag { handle, suffix }, at) if tag.is_none() => {
                    tag = Some((handle, suffix, at));
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        if let Some((handle, suffix, at)) = tag {
            properties.tag = match self.tags.iter().find(|(known, _)| *known == handle) {
                _ if handle.is_empty() => suffix,
                Some((_, prefix)) => format!("{prefix}{suffix}"),
                None => String::new(),
            };
            if properties.tag.is_empty() && !handle.is_empty() {
                return Err(parse_error("found undefined tag handle", at.line));
            }
        }
        Ok(properties)
    }

    /// Reads a node; `in_block`: it may be of a block; `indentless`: a list without an indentation of its own.
    fn node(&mut self, in_block: bool, indentless: bool) -> Result<usize, GoYamlError> {
        if self.depth >= MAX_DEPTH {
            return Err(GoYamlError::Bound("YAML nested more than 100 levels deep"));
        }
        self.depth += 1;
        let node = self.node_here(in_block, indentless);
        self.depth -= 1;
        node
    }

    fn node_here(&mut self, in_block: bool, indentless: bool) -> Result<usize, GoYamlError> {
        if let (TokenKind::Alias(name), start) = self.next()? {
            return self.alias(name, start);
        }
        let Properties { start, anchor, tag } = self.properties()?;
        let (kind, at) = self.next()?;
        match kind {
            TokenKind::BlockEntry if indentless => {
                let node = self.collection(start, anchor, NodeKind::Sequence(Vec::new()));
                self.indentless_sequence(node)
            }
            TokenKind::Scalar { text, is_plain } => {
                self.scanner.take()?;
                let is_implicit = (tag.is_empty() && is_plain) || tag == "!";
                Ok(self.collection(start, anchor, NodeKind::Scalar { text, tag, is_implicit }))
            }
            TokenKind::FlowSequenceStart => {
                let node = self.collection(start, anchor, NodeKind::Sequence(Vec::new()));
                self.flow_sequence(node)
            }
            TokenKind::FlowMappingStart => {
                let node = self.collection(start, anchor, NodeKind::Mapping(Vec::new()));
                self.flow_mapping(node)
            }
            TokenKind::BlockSequenceStart if in_block => {
                let node = self.collection(start, anchor, NodeKind::Sequence(Vec::new()));
                self.block_sequence(node)
            }
            TokenKind::BlockMappingStart if in_block => {
                let node = self.collection(start, anchor, NodeKind::Mapping(Vec::new()));
                self.block_mapping(node)
            }
            _ if anchor.is_some() || !tag.is_empty() => {
                let (text, is_implicit) = (String::new(), tag.is_empty());
                Ok(self.collection(start, anchor, NodeKind::Scalar { text, tag, is_implicit }))
            }
            _ => Err(parse_error("did not find expected node content", at.line)),
        }
    }

    fn alias(&mut self, name: String, start: Mark) -> Result<usize, GoYamlError> {
        let Some(&target) = self.anchors.get(&name) else {
            return Err(GoYamlError::Yaml(format!("unknown anchor '{name}' referenced")));
        };
        self.scanner.take()?;
        Ok(self.add(start.line, NodeKind::Alias { name, target }))
    }

    /// Adds a node that an anchor can name.
    fn collection(&mut self, start: Mark, anchor: Option<String>, kind: NodeKind) -> usize {
        let node = self.add(start.line, kind);
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, node);
        }
        node
    }

    fn push_item(&mut self, list: usize, item: usize) {
        if let Some(Node { kind: NodeKind::Sequence(items), .. }) = self.nodes.get_mut(list) {
            items.push(item);
        }
    }

    fn push_pair(&mut self, mapping: usize, key: usize, value: usize) {
        if let Some(Node { kind: NodeKind::Mapping(pairs), .. }) = self.nodes.get_mut(mapping) {
            pairs.push((key, value));
        }
    }

    fn block_sequence(&mut self, list: usize) -> Result<usize, GoYamlError> {
        self.scanner.take()?;
        loop {
            let token = self.scanner.take()?;
            match token.kind {
                TokenKind::BlockEntry => {
                    let ends = [TokenKind::BlockEntry, TokenKind::BlockEnd];
                    let item = self.node_or_empty(&ends, token.end, false)?;
                    self.push_item(list, item);
                }
                TokenKind::BlockEnd => return Ok(list),
                _ => {
                    let problem = "did not find expected '-' indicator";
                    return Err(parse_error(problem, token.start.line));
                }
            }
        }
    }

    fn indentless_sequence(&mut self, list: usize) -> Result<usize, GoYamlError> {
        while self.is_next(&[TokenKind::BlockEntry])? {
            let token = self.scanner.take()?;
            let ends =
                [TokenKind::BlockEntry, TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
            let item = self.node_or_empty(&ends, token.end, false)?;
            self.push_item(list, item);
        }
        Ok(list)
    }

    /// Reads a node of a block, or nothing where one of these tokens comes.
    fn node_or_empty(
        &mut self,
        ends: &[TokenKind],
        at: Mark,
        indentless: bool,
    ) -> Result<usize, GoYamlError> {
        match self.is_next(ends)? {
            true => Ok(self.empty(at)),
            false => self.node(true, indentless),
        }
    }

    fn block_mapping(&mut self, mapping: usize) -> Result<usize, GoYamlError> {
        const ENDS: [TokenKind; 3] = [TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
        self.scanner.take()?;
        loop {
            let token = self.scanner.take()?;
            match token.kind {
                TokenKind::Key => {}
                TokenKind::BlockEnd => return Ok(mapping),
                _ => return Err(parse_error("did not find expected key", token.start.line)),
            }
            let key = self.node_or_empty(&ENDS, token.end, true)?;
            let (kind, start) = self.next()?;
            let value = if kind == TokenKind::Value {
                let token = self.scanner.take()?;
                self.node_or_empty(&ENDS, token.end, true)?
            } else {
                self.empty(start)
            };
            self.push_pair(mapping, key, value);
        }
    }

    /// Passes the comma before an entry; returns true at the end, which it passes too.
    fn flow_next(
        &mut self,
        end: &TokenKind,
        is_first: bool,
        problem: &str,
    ) -> Result<bool, GoYamlError> {
        let (kind, start) = self.next()?;
        if kind != *end && !is_first {
            if kind != TokenKind::FlowEntry {
                return Err(parse_error(problem, start.line));
            }
            self.scanner.take()?;
        }
        let is_end = self.is_next(std::slice::from_ref(end))?;
        if is_end {
            self.scanner.take()?;
        }
        Ok(is_end)
    }

    fn flow_sequence(&mut self, list: usize) -> Result<usize, GoYamlError> {
        const END: TokenKind = TokenKind::FlowSequenceEnd;
        self.scanner.take()?;
        let mut is_first = true;
        while !self.flow_next(&END, is_first, "did not find expected ',' or ']'")? {
            is_first = false;
            let item = match self.is_next(&[TokenKind::Key])? {
                true => self.flow_pair()?,
                false => self.node(false, false)?,
            };
            self.push_item(list, item);
        }
        Ok(list)
    }

    /// Reads `key: value` as an item of a list.
    fn flow_pair(&mut self) -> Result<usize, GoYamlError> {
        let token = self.scanner.take()?;
        let pair = self.add(token.start.line, NodeKind::Mapping(Vec::new()));
        let ends = [TokenKind::Value, TokenKind::FlowEntry, TokenKind::FlowSequenceEnd];
        let key = match self.is_next(&ends)? {
            // The token is lost here, in the kubelet as well.
            true => {
                let token = self.scanner.take()?;
                self.empty(token.end)
            }
            false => self.node(false, false)?,
        };
        let value = self.flow_value(&TokenKind::FlowSequenceEnd)?;
        self.push_pair(pair, key, value);
        Ok(pair)
    }

    fn flow_value(&mut self, end: &TokenKind) -> Result<usize, GoYamlError> {
        if self.is_next(&[TokenKind::Value])? {
            self.scanner.take()?;
            if !self.is_next(&[TokenKind::FlowEntry, end.clone()])? {
                return self.node(false, false);
            }
        }
        let (_, start) = self.next()?;
        Ok(self.empty(start))
    }

    fn flow_mapping(&mut self, mapping: usize) -> Result<usize, GoYamlError> {
        const END: TokenKind = TokenKind::FlowMappingEnd;
        self.scanner.take()?;
        let mut is_first = true;
        while !self.flow_next(&END, is_first, "did not find expected ',' or '}'")? {
            is_first = false;
            let (key, value) = if self.is_next(&[TokenKind::Key])? {
                self.scanner.take()?;
                let (_, start) = self.next()?;
                let key = match self.is_next(&[TokenKind::Value, TokenKind::FlowEntry, END])? {
                    true => self.empty(start),
                    false => self.node(false, false)?,
                };
                (key, self.flow_value(&END)?)
            } else {
                let key = self.node(false, false)?;
                let (_, start) = self.next()?;
                (key, self.empty(start))
            };
            self.push_pair(mapping, key, value);
        }
        Ok(mapping)
    }
}
