//! Events outside the protocol, as methods for expectations and journals.

macro_rules! events {
    ($($variant:ident $method:literal $meaning:literal),* $(,)?) => {
        /// An event of HTTP or authorization.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HttpEvent {
            $(#[doc = $meaning] $variant,)*
        }

        impl HttpEvent {
            /// Methods of all events.
            pub const METHODS: &[&str] = &[$($method),*];

            /// Returns the name under which observers see it.
            pub fn method(self) -> &'static str {
                Self::METHODS[self as usize]
            }
        }
    };
}

events! {
    Discovery "http/discovery" "Metadata was read.",
    Register "http/register" "A client registered.",
    Authorize "http/authorize" "A code was requested.",
    Device "http/device" "A device asked for its code.",
    Token "http/token" "A token was requested.",
    Refused "http/refused" "A token was refused.",
    Fault "http/fault" "A fault was applied.",
    Retry "http/retry" "The first request after a 429 came.",
    Resume "http/resume" "A stream was resumed.",
    Elsewhere "http/elsewhere" "Another origin got a request.",
}
