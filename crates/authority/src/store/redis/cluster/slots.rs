//! The slot of a key: <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags>.

/// How many there are.
pub(super) const SLOTS: usize = 16_384;

/// The slot of a key: that of its hash tag, if it has one.
pub(in crate::store::redis) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|&byte| byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    crc16(tag.unwrap_or(key)) & 0x3FFF
}

/// CRC-16/XMODEM: polynomial 0x1021, starting with 0.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) ^ u16::from(byte))])
}

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_check_value_comes_out() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
    }

    #[test]
    fn the_hash_tag_alone_decides() {
        assert_eq!(slot(b"w:{t:atlas}:P-READ:jwt:U-17"), slot(b"w:{t:atlas}:P-TENANT"));
        assert_eq!(slot(b"w:{t:atlas}:P"), crc16(b"t:atlas") & 0x3FFF);
        // As Redis does it: an empty tag is none, and only the first counts.
        assert_eq!(slot(b"foo{}{bar}"), crc16(b"foo{}{bar}") & 0x3FFF);
        assert_eq!(slot(b"foo{{bar}}zap"), crc16(b"{bar") & 0x3FFF);
        assert_eq!(slot(b"foo{bar}{zap}"), crc16(b"bar") & 0x3FFF);
        assert_eq!(slot(b"foo"), 12_182);
    }
}
