//! What became of a certificate that was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A certificate, or why there is none.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CertificateMade {
    /// The file that holds it.
    pub file: Option<String>,
    /// Regions of inputs with a sample of each.
    pub regions: Option<u64>,
    /// Why there is none.
    pub none: Option<String>,
    /// What the file holds.
    #[serde(skip)]
    #[schemars(skip)]
    pub text: Option<String>,
}

impl CertificateMade {
    /// One that was made.
    pub fn new(text: String, regions: usize) -> CertificateMade {
        CertificateMade {
            file: None,
            regions: Some(regions as u64),
            none: None,
            text: Some(text),
        }
    }

    /// None was made.
    pub fn none(why: String) -> CertificateMade {
        CertificateMade {
            file: None,
            regions: None,
            none: Some(why),
            text: None,
        }
    }
}
