//! What `spec` holds for calls that are no database's, key by key in the order in which Keploy writes them.
//!
//! A Go field without a tag of its own gets its name in lower case, so the same two times are `reqTimestampMock` in some
//! kinds and `reqtimestampmock` in others. Keys that are not known here are kept in `rest`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::values::{Blob, Ordered, Raw, Stamp};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The `spec` of kind `Http`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HttpSpec {
    /// `name`, `type`, `operation`, `connID`, and ours.
    #[serde(default)]
    pub metadata: Ordered<String>,
    /// What was asked.
    pub req: HttpReq,
    /// What came back.
    pub resp: HttpResp,
    /// Unused by anybody.
    #[serde(default)]
    pub objects: Vec<Value>,
    /// What a test of this call compares; nothing in a mock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertions: Option<Value>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    /// When its first byte was sent.
    #[serde(rename = "reqTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Stamp>,
    /// When the last byte of its answer came.
    #[serde(rename = "resTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Stamp>,
    /// The port of the program under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_port: Option<u16>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A request of kind `Http`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HttpReq {
    /// The method.
    pub method: String,
    /// 1 or 2.
    #[serde(default)]
    pub proto_major: u8,
    /// 0 or 1.
    #[serde(default)]
    pub proto_minor: u8,
    /// Path and query; a whole URL in some older files.
    pub url: String,
    /// The query once more, taken apart.
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    pub url_params: Ordered<String>,
    /// Fields; those that came more than once are joined by commas.
    #[serde(default)]
    pub header: Ordered<Blob>,
    /// The body without content coding.
    #[serde(default)]
    pub body: Blob,
    /// Where the body is if it is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_ref: Option<BodyRef>,
    /// How the body is to be read in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<Value>,
    /// The parts of a form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub form: Vec<FormPart>,
    /// When it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A body in a file of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BodyRef {
    /// The file, from the directory of the set.
    #[serde(default)]
    pub path: String,
    /// Its size in bytes.
    #[serde(default)]
    pub size: u64,
}

/// A part of a form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FormPart {
    /// Its name.
    #[serde(default)]
    pub key: String,
    /// Its values.
    #[serde(default)]
    pub values: Vec<String>,
    /// Files that were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// A response of kind `Http`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HttpResp {
    /// The status code; 0 where there was no answer.
    pub status_code: u16,
    /// Fields.
    #[serde(default)]
    pub header: Ordered<Blob>,
    /// The body without content coding.
    #[serde(default)]
    pub body: Blob,
    /// Where the body is if it is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_ref: Option<BodyRef>,
    /// Whether the body was too large to be kept.
    #[serde(default, skip_serializing_if = "is_false")]
    pub body_skipped: bool,
    /// How large it was, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_size: Option<u64>,
    /// The reason phrase.
    #[serde(default)]
    pub status_message: String,
    /// 1 or 2.
    #[serde(default)]
    pub proto_major: u8,
    /// 0 or 1.
    #[serde(default)]
    pub proto_minor: u8,
    /// How the body is to be read in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<Value>,
    /// When it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The `spec` of kind `Http2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Http2Spec {
    /// As for `Http`.
    #[serde(default)]
    pub metadata: Ordered<String>,
    /// What was asked.
    pub req: Http2Req,
    /// What came back.
    pub resp: Http2Resp,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    /// When its first byte was sent.
    #[serde(rename = "reqTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Stamp>,
    /// When the last byte of its answer came.
    #[serde(rename = "resTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A request of kind `Http2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Http2Req {
    /// `:method`.
    pub method: String,
    /// `:path`.
    pub url: String,
    /// `:authority`.
    #[serde(default)]
    pub authority: String,
    /// `:scheme`.
    #[serde(default)]
    pub scheme: String,
    /// Fields.
    #[serde(default)]
    pub headers: Ordered<Blob>,
    /// The body without content coding.
    #[serde(default)]
    pub body: Blob,
    /// When it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A response of kind `Http2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Http2Resp {
    /// The status code; 0 where there was no answer.
    pub status_code: u16,
    /// Fields.
    #[serde(default)]
    pub headers: Ordered<Blob>,
    /// The body without content coding.
    #[serde(default)]
    pub body: Blob,
    /// Fields after the body.
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    pub trailers: Ordered<Blob>,
    /// When it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The `spec` of kind `gRPC`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrpcSpec {
    /// As for `Http`.
    #[serde(default)]
    pub metadata: Ordered<String>,
    /// What was asked.
    #[serde(rename = "grpcReq")]
    pub req: GrpcSide,
    /// What came back.
    #[serde(rename = "grpcResp")]
    pub resp: GrpcSide,
    /// The port of the program under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_port: Option<u16>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    /// What a test of this call compares; nothing in a mock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertions: Option<Value>,
    /// When its first byte was sent.
    #[serde(rename = "reqTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Stamp>,
    /// When the last byte of its answer came.
    #[serde(rename = "resTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// One side of a call of kind `gRPC`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrpcSide {
    /// Fields before the message.
    #[serde(default)]
    pub headers: GrpcHeaders,
    /// The message, the first one if there are several.
    #[serde(default)]
    pub body: GrpcBody,
    /// All messages with their prefixes, where they are not exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
    /// Fields after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trailers: Option<GrpcHeaders>,
    /// When it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Fields of a gRPC call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrpcHeaders {
    /// `:authority`, `:method`, `:path`, `:scheme`, `:status`.
    #[serde(default)]
    pub pseudo_headers: Ordered<String>,
    /// The others.
    #[serde(default)]
    pub ordinary_headers: Ordered<Blob>,
}

/// A message of a gRPC call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GrpcBody {
    /// 1 if it is compressed.
    #[serde(default)]
    pub compression_flag: u8,
    /// Its length in bytes.
    #[serde(default)]
    pub message_length: u32,
    /// Its bytes in the language of `protoscope`.
    #[serde(default)]
    pub decoded_data: String,
}

/// The `spec` of kind `DNS`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsSpec {
    /// `name`, `qtype`, `type: config`, and ours.
    #[serde(default)]
    pub metadata: Ordered<String>,
    /// What was asked.
    pub request: DnsRequest,
    /// What came back.
    pub response: DnsResponse,
    /// When it was asked.
    #[serde(rename = "reqTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Stamp>,
    /// When it was answered.
    #[serde(rename = "resTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A question of a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsRequest {
    /// The name, with a dot at its end.
    pub name: String,
    /// `A`, or a number in some files.
    #[serde(default)]
    pub qtype: String,
    /// `IN`, or a number in some files.
    #[serde(default)]
    pub qclass: String,
}

/// An answer to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsResponse {
    /// RFC 1035, 4.1.1; a number, or a name such as `NXDOMAIN`.
    #[serde(default)]
    pub rcode: String,
    /// Flag AA.
    #[serde(default)]
    pub authoritative: bool,
    /// Flag RA.
    #[serde(rename = "recursionAvailable", default)]
    pub recursion_available: bool,
    /// Flag TC.
    #[serde(default)]
    pub truncated: bool,
    /// Lines of a zone file.
    #[serde(default)]
    pub answers: Vec<String>,
    /// Lines of the authority section.
    #[serde(default)]
    pub ns: Vec<String>,
    /// Lines of the additional section.
    #[serde(default)]
    pub extra: Vec<String>,
}

/// What one side said before the other did, in `Generic`, `Redis` and `Kafka`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// `client` or `server`.
    #[serde(default)]
    pub origin: String,
    /// In order.
    #[serde(default)]
    pub message: Vec<Payload>,
}

/// Bytes as text, or as base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// `string`, or `binary` for base64.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The text.
    #[serde(default)]
    pub data: Blob,
}

/// Kinds that differ only in two keys.
macro_rules! turns {
    ($name:ident $requests:literal $responses:literal) => {
        /// The `spec` of a kind of turns.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            /// `type`, `connID`, and ours.
            #[serde(default)]
            pub metadata: Ordered<String>,
            /// What the program said.
            #[serde(rename = $requests, default)]
            pub requests: Vec<Turn>,
            /// What it was answered.
            #[serde(rename = $responses, default)]
            pub responses: Vec<Turn>,
            /// When the first byte was sent.
            #[serde(rename = "reqtimestampmock", default, skip_serializing_if = "Option::is_none")]
            pub sent: Option<Stamp>,
            /// When the last byte of the answer came.
            #[serde(rename = "restimestampmock", default, skip_serializing_if = "Option::is_none")]
            pub answered: Option<Stamp>,
            /// Other keys.
            #[serde(flatten)]
            pub rest: Map<String, Value>,
        }
    };
}

turns!(GenericSpec "genericrequests" "genericresponses");
turns!(RedisSpec "redisrequests" "redisresponses");
turns!(KafkaSpec "kafkarequests" "kafkaresponses");
