//! One document: the envelope that all kinds share, and `spec` as its kind says.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::databases::{MongoSpec, MySqlSpec, PostgresSpec, PostgresV2Spec, PostgresV3Spec};
use super::emit;
use super::kinds::{DnsSpec, GenericSpec, GrpcSpec, Http2Spec, HttpSpec, KafkaSpec, RedisSpec};
use super::node::{Kind, Node};
use super::{Problem, bounds};

/// The only version there is.
pub const VERSION: &str = "api.keploy.io/v1beta1";

/// One recorded call as it stands in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// `mock-<n>`.
    pub name: String,
    /// The call.
    pub spec: Spec,
    /// What the envelope holds besides.
    pub tail: Tail,
    /// The line on which it begins; 0 for one that comes from no file.
    pub line: u64,
}

/// What follows `spec` in the envelope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Place of a call that came from a queue: `lane`, `seq`, `anchorAfter`, `anchorPos`, `poll`.
    #[serde(rename = "async", default, skip_serializing_if = "Option::is_none")]
    pub asynchronous: Option<Value>,
    /// What of the request changes from run to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<DeclaredNoise>,
    /// Who changed it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Value>,
    /// The request as a command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curl: Option<String>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
    /// The connection that it was made on. We write it always and last: a document that lacks it was cut short.
    #[serde(rename = "connectionId", default, skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<String>,
}

/// `noise`: a mapping in newer files, a list of regular expressions in older ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredNoise {
    /// Fields, as `body.order.id`, `query.t` or `header.X-Request-Id`.
    pub fields: Vec<String>,
    /// Regular expressions of values.
    pub values: Vec<String>,
    /// Whether it is a list in the file.
    pub is_list: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct NoiseMap {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    req: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    value: Vec<String>,
}

impl Serialize for DeclaredNoise {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_list && self.fields.is_empty() {
            return self.values.serialize(serializer);
        }
        NoiseMap { req: self.fields.clone(), value: self.values.clone() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeclaredNoise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let is_list = value.is_array();
        let map = if is_list {
            NoiseMap { req: Vec::new(), value: Vec::deserialize(value).map_err(serde::de::Error::custom)? }
        } else {
            NoiseMap::deserialize(value).map_err(serde::de::Error::custom)?
        };
        Ok(Self { fields: map.req, values: map.value, is_list })
    }
}

/// Makes the sum of all kinds, and reads and writes it by the name of the kind.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $kind:literal $spec:ty,)*) => {
        /// `spec`, as `kind` says.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Spec {
            $($(#[$doc])* $name(Box<$spec>),)*
            /// A kind that is not known here: its name, and `spec` as it stands.
            Other(String, Value),
        }

        impl Spec {
            /// The word for it in `kind`.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$name(_) => $kind,)*
                    Self::Other(kind, _) => kind,
                }
            }

            fn read(kind: &str, node: &Node) -> Result<Self, Problem> {
                Ok(match kind {
                    $($kind => Self::$name(Box::new(typed(node)?)),)*
                    _ => Self::Other(kind.to_owned(), typed(node)?),
                })
            }

            fn value(&self) -> Result<Value, serde_json::Error> {
                match self {
                    $(Self::$name(spec) => serde_json::to_value(spec),)*
                    Self::Other(_, value) => Ok(value.clone()),
                }
            }
        }
    };
}

kinds! {
    /// HTTP/1.
    Http "Http" HttpSpec,
    /// HTTP/2.
    Http2 "Http2" Http2Spec,
    /// gRPC.
    Grpc "gRPC" GrpcSpec,
    /// A question of a name.
    Dns "DNS" DnsSpec,
    /// Bytes in turns.
    Generic "Generic" GenericSpec,
    /// RESP.
    Redis "Redis" RedisSpec,
    /// Kafka, which is only read.
    Kafka "Kafka" KafkaSpec,
    /// `MySQL`.
    MySql "MySQL" MySqlSpec,
    /// `MongoDB`.
    Mongo "Mongo" MongoSpec,
    /// `PostgreSQL`, the oldest of three layouts.
    Postgres "Postgres" PostgresSpec,
    /// `PostgreSQL`, the second one.
    PostgresV2 "PostgresV2" PostgresV2Spec,
    /// `PostgreSQL`, the newest one.
    PostgresV3 "PostgresV3" PostgresV3Spec,
}

fn typed<T: DeserializeOwned>(node: &Node) -> Result<T, Problem> {
    T::deserialize(node).map_err(|problem| problem.inside("spec", node.line))
}

impl Document {
    /// Takes a document out of its tree. Fails, with line and key, when it is no recording of a call or one of its fields
    /// is not what its kind says.
    pub fn from_node(node: Node) -> Result<Self, Problem> {
        let line = node.line;
        let Kind::Map(members) = node.kind else {
            return Err(Problem::new(
                line,
                "a recorded call is a mapping with `version`, `kind` and `spec`".to_owned(),
            ));
        };
        let (mut version, mut kind, mut name, mut spec) = (None, None, None, None);
        let mut rest = Vec::new();
        for (key, node) in members {
            match key.as_str() {
                "version" => version = Some(node),
                "kind" => kind = Some(node),
                "name" => name = Some(node),
                "spec" => spec = Some(node),
                _ => rest.push((key, node)),
            }
        }
        let version = text(version, "version", line)?;
        if version != VERSION {
            let message = format!("expected `{VERSION}`, got `{}`", version.escape_debug());
            return Err(Problem { line, path: "version".to_owned(), message });
        }
        let kind = text(kind, "kind", line)?;
        let name = text(name, "name", line)?;
        let spec = spec.ok_or_else(|| missing("spec", line))?;
        bounds::check(&spec)?;
        let rest = Node { line, kind: Kind::Map(rest) };
        let tail = Tail::deserialize(&rest)?;
        Ok(Self { name, spec: Spec::read(&kind, &spec)?, tail, line })
    }

    /// Appends it as YAML, without the line that separates documents.
    pub fn write(&self, out: &mut String) -> Result<(), serde_json::Error> {
        let mut members = Map::new();
        members.insert("version".to_owned(), VERSION.into());
        members.insert("kind".to_owned(), self.spec.kind().into());
        members.insert("name".to_owned(), self.name.as_str().into());
        members.insert("spec".to_owned(), self.spec.value()?);
        if let Value::Object(tail) = serde_json::to_value(&self.tail)? {
            members.extend(tail);
        }
        emit::mapping(out, &members, 0);
        Ok(())
    }
}

fn missing(key: &str, line: u64) -> Problem {
    Problem::new(line, format!("the document has no `{key}`"))
}

fn text(node: Option<Node>, key: &str, line: u64) -> Result<String, Problem> {
    let node = node.ok_or_else(|| missing(key, line))?;
    String::deserialize(&node).map_err(|problem| problem.inside(key, node.line))
}
