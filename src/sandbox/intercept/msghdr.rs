//! Messages of sendmsg(2) and recvmsg(2) in the caller's memory.

use replay_base::limits::MAX_INTERCEPTED_BYTES;
use rustix::io::Errno;

use super::call::Span;
use super::descriptor::{CallerDescriptor, fetch};
use crate::caller::CallerMemory;

/// Bytes of `struct msghdr`; both architectures that are supported are of 64 bits and little
/// endian.
const HEADER_BYTES: usize = 56;
/// Bytes of `struct mmsghdr`.
pub(super) const MANY_HEADER_BYTES: u64 = 64;
/// Most pieces of one message (`UIO_MAXIOV`).
const MAX_PIECES: u64 = 1024;
/// Most bytes of control data that are looked at.
const MAX_CONTROL_BYTES: u64 = 4096;
/// Bytes of `struct cmsghdr`.
const CONTROL_HEADER_BYTES: usize = 16;
/// Most descriptors that one message passes (`SCM_MAX_FD`).
const MAX_PASSED: usize = 253;

/// A `struct msghdr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    at: u64,
    pub(super) name: Span,
    pieces: Span,
    control: Span,
}

impl Header {
    pub(super) fn read(memory: CallerMemory, at: u64) -> Result<Self, Errno> {
        let bytes = memory.bytes(at, HEADER_BYTES)?;
        let word = |index: usize| {
            bytes
                .as_chunks()
                .0
                .get(index)
                .map_or(0, |word| u64::from_ne_bytes(*word))
        };
        let header = Self {
            at,
            name: Span {
                address: word(0),
                length: word(1) & u64::from(u32::MAX),
            },
            pieces: Span {
                address: word(2),
                length: word(3),
            },
            control: Span {
                address: word(4),
                length: word(5),
            },
        };
        if header.pieces.length > MAX_PIECES {
            Err(Errno::MSGSIZE)
        } else {
            Ok(header)
        }
    }

    fn pieces(&self, memory: CallerMemory) -> Result<Vec<Span>, Errno> {
        let bytes = memory.bytes(self.pieces.address, self.pieces.length as usize * 16)?;
        let words: Vec<u64> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .collect();
        Ok(words
            .as_chunks()
            .0
            .iter()
            .map(|[address, length]| Span {
                address: *address,
                length: *length,
            })
            .collect())
    }

    /// Returns the data to send, up to the limit, and true if that is all of it.
    pub(super) fn gather(&self, memory: CallerMemory) -> Result<(Vec<u8>, bool), Errno> {
        let mut data = Vec::new();
        for piece in self.pieces(memory)? {
            let room = MAX_INTERCEPTED_BYTES - data.len();
            data.extend(memory.bytes(
                piece.address,
                room.min(usize::try_from(piece.length).unwrap_or(room)),
            )?);
            if piece.length > room as u64 {
                return Ok((data, false));
            }
        }
        Ok((data, true))
    }

    /// Returns the total buffer size.
    pub(super) fn room(&self, memory: CallerMemory) -> Result<u64, Errno> {
        Ok(self
            .pieces(memory)?
            .iter()
            .fold(0, |sum, piece| sum.saturating_add(piece.length)))
    }

    /// Puts what was received, and from whom, where the caller wants it; `all` is how long the
    /// message was.
    pub(super) fn scatter(
        &self,
        memory: CallerMemory,
        data: &[u8],
        name: &[u8],
        all: usize,
    ) -> Result<(), Errno> {
        let mut rest = data;
        for piece in self.pieces(memory)? {
            let (now, later) = rest.split_at(
                rest.len()
                    .min(usize::try_from(piece.length).unwrap_or(usize::MAX)),
            );
            memory.put(piece.address, now)?;
            rest = later;
        }
        if self.name.address != 0 {
            memory.put(
                self.name.address,
                &name[..name.len().min(self.name.length as usize)],
            )?;
            memory.put(self.at + 8, &(name.len() as u32).to_ne_bytes())?;
        }
        memory.put(self.at + 40, &0_u64.to_ne_bytes())?;
        let flags = if all > data.len() - rest.len() {
            libc::MSG_TRUNC
        } else {
            0
        };
        memory.put(self.at + 48, &flags.to_ne_bytes())
    }

    /// Returns the descriptors in the message (unix(7), `SCM_RIGHTS`). Other control data are
    /// ignored.
    pub(super) fn passed(
        &self,
        memory: CallerMemory,
        pid: u32,
    ) -> Result<Vec<CallerDescriptor>, Errno> {
        let mut passed = Vec::new();
        if self.control.length > MAX_CONTROL_BYTES {
            return Err(Errno::NOBUFS);
        }
        for number in rights(&memory.bytes(self.control.address, self.control.length as usize)?)? {
            passed.push(fetch(pid, number)?);
        }
        Ok(passed)
    }
}

/// The numbers of the descriptors in control data (cmsg(3)).
fn rights(control: &[u8]) -> Result<Vec<i32>, Errno> {
    let mut numbers = Vec::new();
    let mut rest = control;
    while let Some((head, _)) = rest.split_first_chunk::<CONTROL_HEADER_BYTES>() {
        let word = |at: usize| {
            head[at..]
                .first_chunk()
                .map_or(0, |word| i32::from_ne_bytes(*word))
        };
        let length = head
            .first_chunk()
            .map_or(0, |length| u64::from_ne_bytes(*length));
        let length = usize::try_from(length)
            .ok()
            .filter(|length| (CONTROL_HEADER_BYTES..=rest.len()).contains(length));
        let length = length.ok_or(Errno::INVAL)?;
        if (word(8), word(12)) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            let (words, _) = rest[CONTROL_HEADER_BYTES..length].as_chunks();
            numbers.extend(words.iter().map(|word| i32::from_ne_bytes(*word)));
        }
        if numbers.len() > MAX_PASSED {
            return Err(Errno::INVAL);
        }
        rest = &rest[length.next_multiple_of(8).min(rest.len())..];
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn descriptors_are_found_in_control_data() {
        let entry = |level: i32, kind: i32, data: &[u8]| {
            let mut bytes = ((CONTROL_HEADER_BYTES + data.len()) as u64)
                .to_ne_bytes()
                .to_vec();
            bytes.extend([level.to_ne_bytes(), kind.to_ne_bytes()].concat());
            bytes.extend(data);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        };
        let passed = entry(
            libc::SOL_SOCKET,
            libc::SCM_RIGHTS,
            &[3_i32, 4, 5].map(i32::to_ne_bytes).concat(),
        );
        let other = entry(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, &[0; 12]);
        let all = [other.clone(), passed.clone(), other].concat();
        assert_eq!(rights(&all), Ok(vec![3, 4, 5]));
        assert_eq!(rights(&[]), Ok(vec![]));
        let mut short = passed.clone();
        short[0] = 15;
        assert_eq!(rights(&short), Err(Errno::INVAL));
        assert_eq!(rights(&passed[..20]), Err(Errno::INVAL));
        assert_eq!(
            rights(&entry(1, libc::SCM_RIGHTS, &[0; 1100])),
            Err(Errno::INVAL)
        );
    }
}
