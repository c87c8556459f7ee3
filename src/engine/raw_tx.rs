//! The hash of a raw signed transaction, computed here.
//!
//! A signed transaction is the same wherever it goes, so a client that got "already known", or no
//! answer at all, can still name the transaction it sent.

use alloc::vec::Vec;

/// Bytes that Keccak-256 absorbs before each permutation.
const RATE: usize = 136;
/// The type byte of a transaction that travels with blobs (EIP-4844).
const BLOB_TYPE: u8 = 0x03;
/// From here on a first byte begins an RLP list: a legacy transaction.
const FIRST_LIST: u8 = 0xc0;
/// Up to here a first byte is a transaction type (EIP-2718).
const LAST_TYPE: u8 = 0x7f;

/// The hash under which the chain will know the transaction: keccak-256 of the bytes as signed.
///
/// Blob transactions are sent in a wrapper with their blobs, commitments and proofs (four elements,
/// or five with the version of EIP-7594); the hash covers the signed payload only. `None` if the
/// text is not 0x-prefixed hex of a legacy or typed transaction; types to come are hashed as
/// EIP-2718 prescribes.
///
/// # Examples
///
/// ```
/// use waypost::engine::raw_tx::transaction_hash;
///
/// assert!(transaction_hash("0xc0").is_some());
/// assert!(transaction_hash("not hex").is_none());
/// ```
#[must_use]
pub fn transaction_hash(raw_hex: &str) -> Option<[u8; 32]> {
    let raw = decode_hex(raw_hex)?;
    let (&kind, payload) = raw.split_first()?;
    match kind {
        BLOB_TYPE => Some(keccak(&[&[BLOB_TYPE], signed_blob_payload(payload)?])),
        0x01..=LAST_TYPE => Some(keccak(&[&raw])),
        FIRST_LIST.. => whole_list(&raw).map(|_| keccak(&[&raw])),
        _ => None,
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs
        .map(|pair| pair.iter().try_fold(0, |byte, digit| Some(byte << 4 | nibble(*digit)?)))
        .collect()
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Keccak-256, with the padding of before it became SHA-3.
fn keccak(parts: &[&[u8]]) -> [u8; 32] {
    let mut lanes = [0; 25];
    let mut at = 0;
    for byte in parts.iter().copied().flatten() {
        absorb(&mut lanes, at, *byte);
        at += 1;
        if at == RATE {
            permute(&mut lanes);
            at = 0;
        }
    }
    absorb(&mut lanes, at, 0x01);
    absorb(&mut lanes, RATE - 1, 0x80);
    permute(&mut lanes);
    let mut hash = [0; 32];
    for (bytes, lane) in hash.as_chunks_mut().0.iter_mut().zip(lanes) {
        *bytes = lane.to_le_bytes();
    }
    hash
}

fn permute(lanes: &mut [u64; 25]) {
    keccak::Keccak::new().with_f1600(|f1600| f1600(lanes));
}

/// Adds a byte to the state, which is little-endian.
fn absorb(lanes: &mut [u64; 25], at: usize, byte: u8) {
    if let Some(lane) = lanes.get_mut(at / 8) {
        *lane ^= u64::from(byte) << (at % 8 * 8);
    }
}

/// The list that was signed: the payload itself, or the first element of the wrapper.
///
/// A signed payload begins with the chain id, a string; a wrapper begins with a list.
fn signed_blob_payload(payload: &[u8]) -> Option<&[u8]> {
    let content = whole_list(payload)?;
    if *content.first()? < FIRST_LIST {
        return Some(payload);
    }
    let (inner, mut rest) = split_item(content)?;
    let mut elements = 1;
    while !rest.is_empty() {
        (_, rest) = split_item(rest)?;
        elements += 1;
    }
    matches!(elements, 4 | 5).then_some(inner)
}

/// The content of an RLP list that is all of `bytes`.
fn whole_list(bytes: &[u8]) -> Option<&[u8]> {
    let header = header(bytes)?;
    let is_whole = header.is_list && header.start.checked_add(header.length) == Some(bytes.len());
    if is_whole { bytes.get(header.start..) } else { None }
}

/// The first RLP item, header included, and what follows it.
fn split_item(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let header = header(bytes)?;
    bytes.split_at_checked(header.start.checked_add(header.length)?)
}

struct Header {
    is_list: bool,
    /// Where the content starts.
    start: usize,
    length: usize,
}

fn header(bytes: &[u8]) -> Option<Header> {
    let (&first, rest) = bytes.split_first()?;
    let is_list = first >= FIRST_LIST;
    let short = usize::from(first & 0x3f);
    if first < 0x80 {
        // A small byte is its own content.
        return Some(Header { is_list, start: 0, length: 1 });
    }
    if short < 56 {
        return Some(Header { is_list, start: 1, length: short });
    }
    // Four bytes name more than any transaction has, and fit into a 32-bit usize.
    let size = short - 55;
    let digits = rest.get(..size).filter(|_| size <= 4)?;
    let length = digits.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    Some(Header { is_list, start: 1 + size, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of EIP-155, and the first transaction of mainnet, in block 46147.
    const PROTECTED: &str = "0xf86c098504a817c8008252089435353535353535353535353535353535353535358\
        80de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067c\
        be9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
    const FIRST: &str = "0xf86780862d79883d2000825208945df9b87991262f6ba471f09758cde1c0fc1de734827a\
        69801ca088ff6cf0fefd94db46111149ae4bfc179e9b94721fffd821d38d16464b3f71d0a045e0aff800961cfce8\
        05daef7016b9b675c137a6a41a548f7b60a3484c06a33a";
    const FEE_MARKET: &str = "0x02f866010101843b9aca0082520894353535353535353535353535353535353535353\
        50180c080a06aa6255b4ac9a186f5daf55b8412bcf1a66e664030b6547edd4ad5fea593037fa055e0a0f10e7b94e\
        540fe126b9a528cd74857efdb444af6aae15e3d94e88dd69f";
    const ACCESS_LIST: &str = "0x01f89e0101843b9aca00825208943535353535353535353535353535353535353535\
        0180f838f7943535353535353535353535353535353535353535e1a0000000000000000000000000000000000000\
        000000000000000000000000000001a03a04089071ad8119d299fc3146fb9cb68839fe827963c36efed18745e087\
        1beda06225f81e8f39fe8acf152c20e9f9a03363b002dd9b1f49bf3dd2b855a8720c34";
    const SET_CODE: &str = "0x04f867010101843b9aca00825208943535353535353535353535353535353535353535\
        0180c0c080a04529501d20b3106944f62eeada6a7bcd5a4ba463a9e63f9a2cad88121eee5e70a06d0d95b5d5538b\
        7e5eb4a401908e86d4f658f69057a3c46761e0e41dfb553dc9";
    const BLOB_PAYLOAD: &str = "f889010101843b9aca0082520894353535353535353535353535353535353535353\
        58080c001e1a0012222222222222222222222222222222222222222222222222222222222222280a0a89993b58b\
        3049fbbcdcca5d666d8310ae8d62d3d0bd5adf5abcc1353373db77a03fa5e71681785bad6e73b71bd5440c3522e\
        6d4ea5dd1ea8f45b27114f19c055f";
    const BLOB_HASH: &str = "a0fbf7488cb52d2f6949942a57cf4cf7b024218b9bbc7881f971bcc03f2e3343";

    fn hash(raw: &str) -> Option<String> {
        let digits =
            |byte: u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
        transaction_hash(raw)?.into_iter().flat_map(digits).collect()
    }

    /// `0x03` and the list of the payload and these further elements.
    fn wrapped(elements: &str) -> String {
        let length = BLOB_PAYLOAD.len() / 2 + elements.len() / 2;
        format!("0x03f9{length:04x}{BLOB_PAYLOAD}{elements}")
    }

    fn blobs() -> String {
        let long = format!("f866b864{}", "ab".repeat(100));
        let short = format!("f1b0{}", "cd".repeat(48));
        format!("{long}{short}{short}")
    }

    #[test]
    fn legacy_and_typed_transactions_have_the_hash_that_the_chain_gives_them() {
        for (raw, expected) in [
            (PROTECTED, "33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788"),
            (FIRST, "5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"),
            (ACCESS_LIST, "461533dbf3b68bedf53d65e69fc57f88941625d6374e29c70d7d8dba1384fffe"),
            (FEE_MARKET, "c1e658e375ff7d1c7298b538044bc831e516b73cc1850bf59d0967bb7cda4e34"),
            (SET_CODE, "1c55dec19c6b206271d59b19f4fbcea38ef92e5badfbd19df5e637ad2580d89c"),
        ] {
            assert_eq!(hash(raw).as_deref(), Some(expected));
            assert_eq!(hash(&raw.to_uppercase().replace("0X", "0x")).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_blob_transaction_is_hashed_without_its_blobs() {
        for raw in
            [format!("0x03{BLOB_PAYLOAD}"), wrapped(&blobs()), wrapped(&format!("01{}", blobs()))]
        {
            assert_eq!(hash(&raw).as_deref(), Some(BLOB_HASH), "{raw}");
        }
    }

    #[test]
    fn what_is_no_transaction_has_no_hash() {
        let truncated = &PROTECTED[..PROTECTED.len() - 2];
        let trailing = format!("{PROTECTED}00");
        let three_elements = wrapped("c0c0");
        let six_elements = wrapped("c0c0c0c0c0");
        let cut_element = wrapped("c0c0f8");
        for raw in [
            "",
            "0x",
            "f86c",
            "0x0",
            "0xzz",
            "0x00",
            "0x80",
            "0xbf",
            "0xc1",
            "0xf8",
            "0xf9ff",
            "0xffffffffffffffffff",
            "0xfbffffffff",
            "0x03",
            "0x0380",
            "0x03c0",
            "0xc00",
            "0xfc000000000105",
            "0xé0",
            truncated,
            &trailing,
            &three_elements,
            &six_elements,
            &cut_element,
        ] {
            assert_eq!(hash(raw), None, "{raw}");
        }
    }
}
