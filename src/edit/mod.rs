//! stub
/// x
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct EditError;
impl EditError {
    /// x
    pub fn hint(&self) -> Option<std::borrow::Cow<'static, str>> {
        None
    }
}
