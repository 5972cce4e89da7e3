//! Fits a reply to what its client passes on to the model.

use replay_clients::ReplyProfile;
use replay_mcp::protocol::Content;

use super::Context;
use super::reply_size::whole_lines;
use super::text_limit::TextLimit;

/// Room for the note on a cut, in bytes.
const NOTE_BYTES: usize = 200;

/// Changes the blocks that the client does not pass on as they are, and cuts what is beyond the
/// limit of the reply.
pub(super) fn fit(content: &mut Vec<Content>, context: &Context<'_>) {
    adapt(content, context.replies);
    if context.is_lean() {
        cut_to_tokens(content, context.limit());
    }
    if let Some(most) = context.replies.reply_chars {
        cut(content, most);
    }
}

fn adapt(content: &mut Vec<Content>, replies: &ReplyProfile) {
    for block in content.iter_mut() {
        match block {
            Content::Link { uri, .. } if !replies.resource_links => {
                *block = Content::note(format_args!(
                    "read_file with path `{uri}` has the whole output"
                ));
            }
            Content::Image { data, mime }
                if replies.image_bytes.is_some_and(|most| data.len() > most) =>
            {
                *block = Content::note(format_args!(
                    "a picture ({mime}, {} bytes in base64) is left out, since this client would pass it on as text",
                    data.len()
                ));
            }
            _ => {}
        }
    }
    if *replies != ReplyProfile::default() && content.iter().all(|block| block.as_text().is_none())
    {
        let pictures: Vec<Content> = content.iter().filter_map(picture_line).collect();
        content.extend(pictures);
    }
}

/// Cuts the texts that the tool did not fit itself.
fn cut_to_tokens(content: &mut Vec<Content>, limit: TextLimit) {
    let mut room = limit;
    let (mut bytes, mut shown) = (0, 0);
    content.retain_mut(|block| {
        let Content::Text(text) = block else {
            return true;
        };
        bytes += text.len();
        if !room.take(text) {
            let whole = room.lines_of(text);
            text.truncate(if whole == 0 {
                room.bytes_of(text)
            } else {
                whole
            });
            room = room.after(text).at_most(0);
        }
        shown += text.len();
        !text.is_empty()
    });
    if shown < bytes {
        content.push(Content::note(format_args!(
            "{shown} of {bytes} bytes of this reply are shown: ask for less at once{}",
            limit.or_raise()
        )));
    }
}

/// Describes a picture, for clients that show a result without text as empty.
fn picture_line(block: &Content) -> Option<Content> {
    match block {
        Content::Image { data, mime } => {
            let bytes = data.len() / 4 * 3;
            Some(Content::note(format_args!(
                "a picture: {mime}, {bytes} bytes"
            )))
        }
        _ => None,
    }
}

/// Cuts the texts to whole lines, so that with the notes they have at most `most` bytes.
fn cut(content: &mut Vec<Content>, most: usize) {
    let length = |block: &Content| block.as_text().map_or(0, |text| text.len() + 1);
    if content.iter().map(length).sum::<usize>() <= most {
        return;
    }
    let notes = content
        .iter()
        .filter(|block| matches!(block, Content::Note(_)));
    let mut room = most.saturating_sub(notes.map(length).sum::<usize>() + NOTE_BYTES);
    let (mut bytes, mut shown) = (0, 0);
    content.retain_mut(|block| {
        let Content::Text(text) = block else {
            return true;
        };
        bytes += text.len();
        if text.len() >= room {
            let whole = whole_lines(text, room);
            text.truncate(if whole == 0 {
                text.floor_char_boundary(room)
            } else {
                whole
            });
            room = 0;
        } else {
            room -= text.len() + 1;
        }
        shown += text.len();
        !text.is_empty()
    });
    content.push(Content::note(format_args!(
        "{shown} of {bytes} bytes of this reply are shown, since the client passes on no more; ask for less at once"
    )));
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn fitted(content: &[Content], replies: &ReplyProfile) -> Vec<Content> {
        let mut content = content.to_vec();
        adapt(&mut content, replies);
        if let Some(most) = replies.reply_chars {
            cut(&mut content, most);
        }
        content
    }

    #[test]
    fn long_text_is_cut_to_whole_lines() {
        let lines = "0123456789\n".repeat(100);
        let most = |reply_chars| ReplyProfile {
            reply_chars: Some(reply_chars),
            ..ReplyProfile::default()
        };
        let content = [Content::text(&*lines), Content::note("a note")];
        assert_eq!(fitted(&content, &most(1200)), content);
        let cut = fitted(&content, &most(500));
        let shown = &lines[..286];
        let note = "286 of 1100 bytes of this reply are shown, since the client passes on no more; ask for less at once";
        assert_eq!(
            cut,
            [
                Content::text(shown),
                content[1].clone(),
                Content::note(note)
            ]
        );
        let length: usize = cut.iter().map(|block| block.length() + 1).sum();
        assert!(length <= 500, "{length}");
    }

    #[test]
    fn texts_beyond_limit_are_left_out() {
        let replies = ReplyProfile {
            reply_chars: Some(300),
            ..ReplyProfile::default()
        };
        let content = [
            "a\n".repeat(40),
            "b\n".repeat(40),
            "c\n".repeat(40),
            "d".repeat(200),
        ];
        let content = content.map(Content::Text);
        let note = "98 of 440 bytes of this reply are shown, since the client passes on no more; ask for less at once";
        assert_eq!(
            fitted(&content, &replies),
            [
                content[0].clone(),
                Content::text("b\n".repeat(9)),
                Content::note(note),
            ]
        );
    }

    #[test]
    fn link_and_large_picture_become_notes() {
        let replies = ReplyProfile {
            resource_links: false,
            image_bytes: Some(3),
            ..ReplyProfile::default()
        };
        let image = |data: &str| Content::Image {
            data: data.to_owned(),
            mime: "image/png".to_owned(),
        };
        let link = Content::Link {
            uri: "replay://logs/1".to_owned(),
            name: "1".to_owned(),
            mime: "text/plain".to_owned(),
            size: 1,
        };
        let described = [image("abc"), Content::note("a picture: image/png, 0 bytes")];
        assert_eq!(fitted(&[image("abc")], &replies), described);
        let unknown = ReplyProfile::default();
        assert_eq!(fitted(&[image("abc")], &unknown), [image("abc")]);
        assert_eq!(
            fitted(&[image("abc"), image("abcd"), link], &replies),
            [
                image("abc"),
                Content::note(
                    "a picture (image/png, 4 bytes in base64) is left out, since this client would pass it on as text"
                ),
                Content::note("read_file with path `replay://logs/1` has the whole output"),
            ]
        );
    }
}
