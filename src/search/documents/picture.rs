//! A picture, or a region of one, in a size that clients can show.

use std::io::Cursor;

use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{PngDecoder, PngEncoder};
use image::codecs::webp::WebPDecoder;
use image::imageops::FilterType;
use image::{
    AnimationDecoder as _, DynamicImage, ImageDecoder as _, ImageEncoder, ImageError, ImageFormat,
    ImageReader, Limits, Rgb, RgbImage,
};
use replay_base::limits::{MAX_PICTURE_BYTES, MAX_PICTURE_SIDE};
use serde::{Deserialize, Serialize};

use super::ReaderAnswer;
use super::fault::Fault;
use super::kind::{Size, picture_size};

/// Quality of a JPEG that is made, in percent.
const PICTURE_QUALITY_PERCENT: u8 = 85;

/// Region of a picture: x and y of its upper left corner, width, height, in pixels of the picture
/// as displayed.
pub type Region = [u32; 4];

/// A picture converted from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ConvertedPicture {
    pub form: Form,
    pub size: Size,
    /// Region of the original that it shows.
    pub region: Region,
    pub original: Size,
    /// `true` if the original has more frames than this first one.
    pub is_animated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Form {
    Png,
    Jpeg,
}

impl Form {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }

    pub(super) fn magic(self) -> &'static [u8] {
        match self {
            Self::Png => b"\x89PNG\r\n\x1a\n",
            Self::Jpeg => b"\xff\xd8\xff",
        }
    }
}

/// Converts the picture as requested in [`super::Question`].
pub(super) fn convert(
    bytes: &[u8],
    region: Option<Region>,
    memory_bytes: u64,
) -> Result<(ReaderAnswer, Vec<u8>), Fault> {
    let too_large = || {
        Fault::new(format!(
            "needs more than {memory_bytes} bytes of memory to be decoded"
        ))
    };
    let broken = |error: ImageError| match error {
        ImageError::Limits(_) => too_large(),
        error => Fault::broken("the picture", &error),
    };
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| Fault::broken("the picture", &error))?;
    let format = reader.format();
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(memory_bytes);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    // Other readers may find a larger frame in it.
    let is_small =
        picture_size(bytes).is_some_and(|size| size.width.max(size.height) <= MAX_PICTURE_SIDE);
    if region.is_none()
        && bytes.len() <= MAX_PICTURE_BYTES
        && width.max(height) <= MAX_PICTURE_SIDE
        && is_small
    {
        return Ok((ReaderAnswer::AsItIs, Vec::new()));
    }
    if decoder.total_bytes() > memory_bytes {
        return Err(too_large());
    }
    let orientation = decoder.orientation().map_err(broken)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(broken)?;
    image.apply_orientation(orientation);
    let original = Size {
        width: image.width(),
        height: image.height(),
    };
    let region = match region {
        Some(region) => clip_region(region, original)?,
        None => [0, 0, original.width, original.height],
    };
    let [x, y, width, height] = region;
    if region != [0, 0, original.width, original.height] {
        image = image.crop_imm(x, y, width, height);
    }
    let is_photo = format == Some(ImageFormat::Jpeg);
    let mut longest = MAX_PICTURE_SIDE;
    loop {
        let size = Size { width, height }.scaled(longest);
        if size
            != (Size {
                width: image.width(),
                height: image.height(),
            })
        {
            image = image.resize_exact(size.width, size.height, FilterType::Triangle);
        }
        let (form, encoded) = encode(&image, is_photo).map_err(broken)?;
        if encoded.len() <= MAX_PICTURE_BYTES {
            let is_animated = is_animated(bytes, format);
            return Ok((
                ReaderAnswer::Picture(ConvertedPicture {
                    form,
                    size,
                    region,
                    original,
                    is_animated,
                }),
                encoded,
            ));
        }
        longest = longest / 4 * 3;
    }
}

/// Returns the part of a region that lies in the picture.
fn clip_region([x, y, width, height]: Region, of: Size) -> Result<Region, Fault> {
    let part = [
        x,
        y,
        width.min(of.width.saturating_sub(x)),
        height.min(of.height.saturating_sub(y)),
    ];
    if part[2] == 0 || part[3] == 0 {
        let Size {
            width: all,
            height: high,
        } = of;
        return Err(Fault::new(format!(
            "is {all} x {high} pixels, and `region` [{x}, {y}, {width}, {height}] is outside of \
             that"
        )));
    }
    Ok(part)
}

/// Encodes a picture: as lossless PNG, or as JPEG without transparency if it is a photo or the PNG
/// would be too large.
fn encode(image: &DynamicImage, is_photo: bool) -> Result<(Form, Vec<u8>), ImageError> {
    let mut bytes = Vec::new();
    let has_alpha = image.color().has_alpha();
    if !is_photo {
        let eight_bits = if has_alpha {
            DynamicImage::from(image.to_rgba8())
        } else {
            image.to_rgb8().into()
        };
        eight_bits.write_with_encoder(PngEncoder::new(&mut bytes))?;
        if bytes.len() <= MAX_PICTURE_BYTES {
            return Ok((Form::Png, bytes));
        }
        bytes.clear();
    }
    let flat = if has_alpha {
        on_white(image)
    } else {
        image.to_rgb8()
    };
    let encoder = JpegEncoder::new_with_quality(&mut bytes, PICTURE_QUALITY_PERCENT);
    encoder.write_image(
        &flat,
        flat.width(),
        flat.height(),
        image::ExtendedColorType::Rgb8,
    )?;
    Ok((Form::Jpeg, bytes))
}

fn on_white(image: &DynamicImage) -> RgbImage {
    let image = image.to_rgba8();
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [colors @ .., alpha] = image.get_pixel(x, y).0;
        let alpha = u32::from(alpha);
        Rgb(colors.map(|color| ((u32::from(color) * alpha + 255 * (255 - alpha)) / 255) as u8))
    })
}

fn is_animated(bytes: &[u8], format: Option<ImageFormat>) -> bool {
    let bytes = Cursor::new(bytes);
    match format {
        Some(ImageFormat::Gif) => GifDecoder::new(bytes)
            .is_ok_and(|decoder| decoder.into_frames().take(2).flatten().count() == 2),
        Some(ImageFormat::Png) => PngDecoder::new(bytes)
            .and_then(|decoder| decoder.is_apng())
            .is_ok_and(|is_animated| is_animated),
        Some(ImageFormat::WebP) => {
            WebPDecoder::new(bytes).is_ok_and(|decoder| decoder.has_animation())
        }
        _ => false,
    }
}
