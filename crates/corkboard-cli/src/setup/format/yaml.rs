//! YAML. Lines are inserted and removed as text; the parser finds them, and checks the result.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value};

use super::{Edited, SERVER, not_an_object, server, value_of};
use crate::setup::entry::Item;

/// A value and the lines that it is on.
struct Node {
    content: Content,
    /// Line and column of its beginning, from 0.
    line: usize,
    column: usize,
    /// The line after its last one.
    end: usize,
    is_block: bool,
}

enum Content {
    Text(String),
    List(Vec<Node>),
    /// Keys and values.
    Map(Vec<(Node, Node)>),
}

pub(super) fn read(text: &str) -> Edited<Value> {
    Ok(parse(text)?.map_or(Value::Null, |node| node.value()))
}

pub(super) fn add(text: &str, section: &str, entry: &Item) -> Edited<String> {
    let root = parse(text)?;
    let content = root.as_ref().map_or(Value::Null, Node::value);
    let (wanted, entry) = (texts(&value_of(entry)), entry);
    if server(&content, section) == Some(&wanted) {
        return Ok(text.to_owned());
    }
    let without = remove(text, section, &content)?;
    let root = parse(&without)?;
    let mut lines = Lines::of(&without);
    let own = |indent: usize| block(&[(SERVER.to_owned(), entry.clone())], indent);
    match &root {
        None => lines.append([vec![format!("{section}:")], own(2)].concat()),
        Some(root) => match root.field(section)? {
            None if root.is_block || root.is_blank() => lines.append([vec![format!("{section}:")], own(2)].concat()),
            Some((key, value)) if root.is_block && value.is_blank() => {
                lines.replace_braces(key.line);
                lines.insert(key.line + 1, own(key.column + 2));
            }
            Some((key, value)) if root.is_block && value.is_block && value.is_map() => {
                lines.insert(key.line + 1, own(value.column));
            }
            _ => return Err(format!("{section} is not written as a block, with one line for each key")),
        },
    }
    let edited = lines.text();
    let mut expected = texts(&read(&without)?);
    set(&mut expected, section, wanted);
    checked(edited, &expected)
}

pub(super) fn remove(text: &str, section: &str, kept: &Value) -> Edited<String> {
    let root = parse(text)?;
    let Some((key, servers)) = root.as_ref().map(|root| root.field(section)).transpose()?.flatten() else {
        return Ok(text.to_owned());
    };
    let Some((own, value)) = servers.field(SERVER)? else { return Ok(text.to_owned()) };
    if !servers.is_block {
        return Err(format!("{section} is not written as a block, with one line for each key"));
    }
    let mut lines = Lines::of(text);
    let is_only = matches!(&servers.content, Content::Map(fields) if fields.len() == 1);
    lines.remove(own.line, value.end.max(own.line + 1));
    let mut expected = read(text)?;
    if let Some(servers) = expected.get_mut(section).and_then(Value::as_object_mut) {
        servers.remove(SERVER);
    }
    if is_only {
        match kept.get(section) {
            Some(_) => lines.put_braces(key.line),
            None => {
                lines.remove(key.line, key.line + 1);
                expected.as_object_mut().map(|top| top.remove(section));
            }
        }
    }
    checked(lines.text(), &expected)
}

/// The edited text, if it means what it should.
fn checked(edited: String, expected: &Value) -> Edited<String> {
    let is_same = |found: &Value| match (found, expected) {
        (Value::Null, Value::Object(fields)) => fields.is_empty(),
        _ => found == expected,
    };
    match read(&edited) {
        Ok(found) if is_same(&found) => Ok(edited),
        _ => Err("its layout cannot be edited safely".into()),
    }
}

fn set(top: &mut Value, section: &str, entry: Value) {
    if !top.is_object() {
        *top = Value::Object(Map::new());
    }
    let servers = top.as_object_mut().map(|top| top.entry(section).or_insert_with(|| Map::new().into()));
    if let Some(servers) = servers {
        if !servers.is_object() {
            *servers = Map::new().into();
        }
        servers.as_object_mut().map(|servers| servers.insert(SERVER.into(), entry));
    }
}

/// A value with all scalars as texts, as [`Node::value`] returns them.
fn texts(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), texts(value))).collect(),
        Value::String(_) => value.clone(),
        other => other.to_string().into(),
    }
}

/// The fields as lines of a block.
fn block(fields: &[(String, Item)], indent: usize) -> Vec<String> {
    let begin = " ".repeat(indent);
    let line = |(name, item): &(String, Item)| match item {
        Item::Object(inner) => [vec![format!("{begin}{name}:")], block(inner, indent + 2)].concat(),
        Item::Array(items) => {
            let items = items.iter().map(|item| format!("{begin}- {}", scalar(item)));
            [format!("{begin}{name}:")].into_iter().chain(items).collect()
        }
        item => vec![format!("{begin}{name}: {}", scalar(item))],
    };
    fields.iter().flat_map(line).collect()
}

/// A scalar, in quotes unless it is a plain word. JSON's quoted form is also one of YAML.
fn scalar(item: &Item) -> String {
    let value = value_of(item);
    let is_word = |text: &str| {
        let mut bytes = text.bytes();
        let starts = bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'/');
        starts && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-/.".contains(&byte)) && !WORDS.contains(&text)
    };
    match &value {
        Value::String(text) if is_word(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Words that YAML does not read as texts.
const WORDS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "y"];

impl Node {
    fn value(&self) -> Value {
        match &self.content {
            Content::Text(text) => text.as_str().into(),
            Content::List(items) => items.iter().map(Self::value).collect(),
            Content::Map(fields) => fields.iter().map(|(key, value)| (key.key(), value.value())).collect(),
        }
    }

    fn key(&self) -> String {
        match &self.content {
            Content::Text(text) => text.clone(),
            _ => self.value().to_string(),
        }
    }

    fn is_map(&self) -> bool {
        matches!(self.content, Content::Map(_))
    }

    /// Whether this is nothing, or an empty map.
    fn is_blank(&self) -> bool {
        match &self.content {
            Content::Text(text) => text.is_empty(),
            Content::Map(fields) => fields.is_empty(),
            Content::List(_) => false,
        }
    }

    fn field(&self, name: &str) -> Edited<Option<(&Self, &Self)>> {
        match &self.content {
            Content::Map(fields) => {
                Ok(fields.iter().find(|(key, _)| key.key() == name).map(|(key, value)| (key, value)))
            }
            _ if self.is_blank() => Ok(None),
            _ => Err(not_an_object(if name == SERVER { "the list of servers" } else { "the whole file" })),
        }
    }
}

/// The only document of a text.
fn parse(text: &str) -> Edited<Option<Node>> {
    let mut parser = Parser::new_from_str(text);
    let mut documents = Vec::new();
    loop {
        match next(&mut parser)? {
            (Event::StreamEnd, _) => break,
            (Event::DocumentStart(_), _) => documents.push(node(&mut parser, text)?),
            _ => {}
        }
    }
    match documents.len() {
        0 | 1 => Ok(documents.pop()),
        _ => Err("the file has several documents".into()),
    }
}

type Events<'a> = Parser<'a, saphyr_parser::StrInput<'a>>;

fn next<'a>(parser: &mut Events<'a>) -> Edited<(Event<'a>, Span)> {
    match parser.next_event() {
        Some(Ok(event)) => Ok(event),
        Some(Err(error)) => {
            let mark = error.marker();
            Err(format!("line {}, column {}: {}", mark.line(), mark.col() + 1, error.info()))
        }
        None => Err("the file ends too early".into()),
    }
}

fn node(parser: &mut Events<'_>, text: &str) -> Edited<Node> {
    let event = next(parser)?;
    node_of(parser, event, text)
}

fn node_of(parser: &mut Events<'_>, (event, span): (Event<'_>, Span), text: &str) -> Edited<Node> {
    let (line, column) = (span.start.line().saturating_sub(1), span.start.col());
    let mut end = end_of(span);
    let mut is_block = false;
    let content = match event {
        Event::Scalar(value, style, ..) => {
            let is_null = style == ScalarStyle::Plain && matches!(&*value, "~" | "null");
            Content::Text(if is_null { String::new() } else { value.into_owned() })
        }
        Event::Alias(anchor) => Content::Text(format!("*{anchor}")),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match next(parser)? {
                    (Event::SequenceEnd, _) => break,
                    event => items.push(node_of(parser, event, text)?),
                }
            }
            Content::List(items)
        }
        Event::MappingStart(..) => {
            is_block = char_at(text, line, column) != Some('{');
            let mut fields = Vec::new();
            loop {
                match next(parser)? {
                    (Event::MappingEnd, span) => {
                        end = if is_block { end } else { end_of(span) };
                        break;
                    }
                    event => {
                        let key = node_of(parser, event, text)?;
                        fields.push((key, node(parser, text)?));
                    }
                }
            }
            Content::Map(fields)
        }
        other => return Err(format!("unexpected {other:?}")),
    };
    let inner = match &content {
        Content::Text(_) => None,
        Content::List(items) => items.iter().map(|node| node.end).max(),
        Content::Map(fields) => fields.iter().map(|(key, value)| key.end.max(value.end)).max(),
    };
    Ok(Node { content, line, column, end: end.max(inner.unwrap_or(0)), is_block })
}

/// The line after a span. A block of text ends at the beginning of the next line.
fn end_of(span: Span) -> usize {
    if span.end.col() == 0 { span.end.line().saturating_sub(1) } else { span.end.line() }
}

fn char_at(text: &str, line: usize, column: usize) -> Option<char> {
    text.lines().nth(line)?.chars().nth(column)
}

/// The lines of a text, each with its end.
struct Lines {
    lines: Vec<String>,
    end: &'static str,
}

impl Lines {
    fn of(text: &str) -> Self {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { lines: text.split_inclusive('\n').map(str::to_owned).collect(), end }
    }

    fn text(&self) -> String {
        self.lines.concat()
    }

    fn insert(&mut self, at: usize, lines: Vec<String>) {
        let end = self.end;
        let at = at.min(self.lines.len());
        if let Some(before) = self.lines.get_mut(at.wrapping_sub(1)).filter(|line| !line.ends_with('\n')) {
            before.push_str(end);
        }
        self.lines.splice(at..at, lines.into_iter().map(|line| line + end));
    }

    fn append(&mut self, lines: Vec<String>) {
        self.insert(self.lines.len(), lines);
    }

    fn remove(&mut self, from: usize, to: usize) {
        let to = to.min(self.lines.len());
        self.lines.drain(from.min(to)..to);
    }

    /// Removes an empty value from the line of its key.
    fn replace_braces(&mut self, at: usize) {
        if let Some(line) = self.lines.get_mut(at) {
            for blank in [" {}", " ~", " null"] {
                if let Some((key, rest)) = line.clone().split_once(&[":", blank].concat()) {
                    *line = [key, ":", rest].concat();
                }
            }
        }
    }

    /// Adds an empty value to the line of a key.
    fn put_braces(&mut self, at: usize) {
        if let Some(line) = self.lines.get_mut(at)
            && let Some((key, rest)) = line.clone().split_once(':')
        {
            *line = [key, ": {}", rest].concat();
        }
    }
}
