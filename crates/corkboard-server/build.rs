//! Compresses the description of the routes.

use std::fs::File;
use std::io::{Result, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=openapi.json");
    let folder = std::env::var("OUT_DIR").map_err(std::io::Error::other)?;
    let compressed = File::create(Path::new(&folder).join("openapi.json.gz"))?;
    let mut encoder = GzEncoder::new(compressed, Compression::best());
    encoder.write_all(&std::fs::read("openapi.json")?)?;
    encoder.finish()?;
    Ok(())
}
