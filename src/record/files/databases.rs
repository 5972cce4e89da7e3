//! What `spec` holds for the calls of databases. A decoded message is kept as it stands in the file: its fields differ with
//! its type. What answers a call again is `payload` or `raw`, the bytes themselves.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::values::{Ordered, Raw, Stamp};

/// Kinds with lists `requests` and `responses`, which differ in their items and in how the times are written.
macro_rules! lists {
    ($name:ident $item:ty, $requests:literal $responses:literal $sent:literal $answered:literal) => {
        /// The `spec` of a database's calls.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            /// `type`, `connID`, the operations, and ours.
            #[serde(default)]
            pub metadata: Ordered<String>,
            /// What the program said.
            #[serde(rename = $requests, default)]
            pub requests: Vec<$item>,
            /// What it was answered.
            #[serde(rename = $responses, default)]
            pub responses: Vec<$item>,
            /// Seconds since 1970.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub created: Option<i64>,
            /// When the first byte was sent.
            #[serde(rename = $sent, default, skip_serializing_if = "Option::is_none")]
            pub sent: Option<Stamp>,
            /// When the last byte of the answer came.
            #[serde(rename = $answered, default, skip_serializing_if = "Option::is_none")]
            pub answered: Option<Stamp>,
            /// Other keys.
            #[serde(flatten)]
            pub rest: Map<String, Value>,
        }
    };
}

lists!(MySqlSpec MySqlPacket, "requests" "responses" "reqtimestampmock" "restimestampmock");
lists!(MongoSpec MongoMessage, "requests" "responses" "reqTimestampMock" "resTimestampMock");
lists!(PostgresSpec PostgresMessage, "postgresrequests" "postgresresponses" "reqtimestampmock" "restimestampmock");
lists!(PostgresV2Spec PostgresV2Item, "requests" "responses" "reqtimestampmock" "restimestampmock");

/// A packet of `MySQL`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MySqlPacket {
    /// Its head and what it is.
    #[serde(default)]
    pub header: MySqlHeader,
    /// What readers of it have noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// Its fields.
    #[serde(default)]
    pub message: Value,
    /// Its bytes with its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

/// The head of a packet, and its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MySqlHeader {
    /// The four bytes before it.
    #[serde(default)]
    pub header: MySqlHead,
    /// Such as `COM_QUERY`.
    #[serde(default)]
    pub packet_type: String,
}

/// The four bytes before a packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MySqlHead {
    /// Its length without them.
    #[serde(default)]
    pub payload_length: u32,
    /// Its number in the exchange.
    #[serde(default)]
    pub sequence_id: u8,
}

/// A message of `MongoDB`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MongoMessage {
    /// Its head.
    #[serde(default)]
    pub header: MongoHeader,
    /// Its fields, documents as extended JSON.
    #[serde(default)]
    pub message: Value,
    /// How long its answer took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_delay: Option<Value>,
    /// Its bytes with its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

/// The head of a message of `MongoDB`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MongoHeader {
    /// The length of the whole message.
    #[serde(default)]
    pub length: i32,
    /// Its number.
    #[serde(rename = "requestId", default)]
    pub request_id: i32,
    /// The number of the message that it answers.
    #[serde(rename = "responseTo", default)]
    pub response_to: i32,
    /// What it is: 2013 is `OP_MSG`.
    #[serde(rename = "Opcode", default)]
    pub opcode: i32,
}

/// What one side of a `PostgreSQL` connection sent at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresMessage {
    /// The types of its messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header: Vec<String>,
    /// `StartupRequest`, `ClientRequest` or `ServerResponse`.
    #[serde(default)]
    pub identifier: String,
    /// Its length in bytes.
    #[serde(default)]
    pub length: u64,
    /// Its bytes as base64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub payload: String,
    /// The messages, taken apart.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An item of kind `PostgresV2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresV2Item {
    /// What readers of it have noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// Its packets.
    #[serde(default)]
    pub message: PostgresV2Packets,
}

/// What one side sent at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresV2Packets {
    /// In order.
    #[serde(default)]
    pub packets: Vec<PostgresV2Packet>,
}

/// A packet of kind `PostgresV2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresV2Packet {
    /// Its head and what it is.
    #[serde(default)]
    pub header: PostgresV2Header,
    /// Its fields.
    #[serde(default)]
    pub message: Value,
    /// What readers of it have noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// The head of a packet of kind `PostgresV2`, and its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresV2Header {
    /// Length and number.
    #[serde(default)]
    pub header: PostgresV2Head,
    /// Such as `Query`.
    #[serde(default)]
    pub packet_type: String,
}

/// Length and number of a packet of kind `PostgresV2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresV2Head {
    /// Its length.
    #[serde(default)]
    pub payload_length: u64,
    /// Its number, or its letter.
    #[serde(default)]
    pub packet_id: Value,
}

/// The `spec` of kind `PostgresV3`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresV3Spec {
    /// As for the others.
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    pub metadata: Ordered<String>,
    /// What it is, and under that name its fields.
    #[serde(rename = "postgresV3")]
    pub body: PostgresV3Body,
    /// When the first byte was sent.
    #[serde(rename = "reqTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Stamp>,
    /// When the last byte of the answer came.
    #[serde(rename = "resTimestampMock", default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Stamp>,
    /// Other keys.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What a document of kind `PostgresV3` is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostgresV3Body {
    /// `session`, `catalog`, `data`, `query` or `generator`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its fields, under the name of its type.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}
