//! Pictures and documents, and the processes that read them.

/// Longest side of a picture that clients are sent, in pixels: models scale down what is larger.
pub const MAX_PICTURE_SIDE: u32 = 1568;
/// Longest picture that clients are sent, in bytes: 5 MiB as base64, beyond which models refuse it.
pub const MAX_PICTURE_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;
/// Quality of a JPEG that is made, in percent.
pub const PICTURE_QUALITY_PERCENT: u8 = 85;
/// Memory for a decoded pixel, in bytes, with room for 16 bits a colour or for a copy.
pub const PICTURE_BYTES_PER_PIXEL: usize = 8;
/// Memory for a pixel between the two steps of scaling, in bytes.
pub const PICTURE_BYTES_PER_SCALED_PIXEL: usize = 16;

/// Length of the beginning and of the end of a file that are read to detect its type, in bytes.
pub const DOCUMENT_HEAD_BYTES: usize = 64 * 1024;
/// Largest document or picture that is read, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024 * 1024;
/// Longest text of a document, in bytes.
pub const MAX_DOCUMENT_TEXT_BYTES: usize = 10 * 1024 * 1024;
/// Largest part of a package or cell of a notebook that is taken in, in bytes.
pub const MAX_PACKAGE_PART_BYTES: u64 = 512 * 1024 * 1024;
/// Base memory of a process that reads a document or a picture, in bytes, besides the part that
/// depends on the file's size.
pub const DOCUMENT_MEMORY_BYTES: usize = 128 * 1024 * 1024;
/// Memory for a document, as a multiple of its length.
pub const DOCUMENT_MEMORY_COPIES: usize = 8;
/// Most that it has, in bytes.
pub const MAX_READER_MEMORY_BYTES: usize = 1024 * 1024 * 1024;
/// Memory of the reader program itself, in bytes.
pub const READER_OWN_MEMORY_BYTES: usize = 16 * 1024 * 1024;
/// Longest answer of a reader, in bytes.
pub const MAX_ANSWER_BYTES: usize = MAX_DOCUMENT_TEXT_BYTES + 4096;
/// Longest reason for which there is no answer, in bytes.
pub const MAX_FAULT_BYTES: usize = 400;
/// Limit of a reader's processor time, in seconds.
pub const READER_CPU_SECS: u64 = 20;
/// Timeout for a reader's answer, in seconds.
pub const READER_TIMEOUT_SECS: u64 = 50;
