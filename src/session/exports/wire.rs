//! The part of protocol buffers that ONNX and event files need: a message is its fields, one after
//! another.

/// The kinds of fields used here.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const BYTES: u64 = 2;
const FOUR_BYTES: u64 = 5;

/// The fields of a message so far.
#[derive(Debug, Clone, Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn integer(&mut self, field: u64, value: i64) -> &mut Self {
        self.varint(field << 3 | VARINT).varint(value.cast_unsigned())
    }

    pub fn double(&mut self, field: u64, value: f64) -> &mut Self {
        self.varint(field << 3 | EIGHT_BYTES).extend(&value.to_le_bytes())
    }

    pub fn float(&mut self, field: u64, value: f32) -> &mut Self {
        self.varint(field << 3 | FOUR_BYTES).extend(&value.to_le_bytes())
    }

    pub fn bytes(&mut self, field: u64, value: &[u8]) -> &mut Self {
        self.varint(field << 3 | BYTES).varint(value.len() as u64).extend(value)
    }

    pub fn text(&mut self, field: u64, value: &str) -> &mut Self {
        self.bytes(field, value.as_bytes())
    }

    pub fn message(&mut self, field: u64, value: &Self) -> &mut Self {
        self.bytes(field, &value.0)
    }

    fn extend(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Seven bits per byte, the lowest first.
    fn varint(&mut self, mut value: u64) -> &mut Self {
        while value >= 1 << 7 {
            self.0.push(value as u8 | 1 << 7);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A field as it is read back.
    #[derive(Debug, Clone, PartialEq)]
    pub enum Field {
        Integer(u64),
        Bytes(Vec<u8>),
    }

    impl Field {
        pub fn text(&self) -> String {
            match self {
                Self::Integer(number) => panic!("{number} where text was expected"),
                Self::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            }
        }

        pub fn message(&self) -> Vec<(u64, Self)> {
            match self {
                Self::Integer(number) => panic!("{number} where a message was expected"),
                Self::Bytes(bytes) => fields(bytes),
            }
        }
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    /// The fields of a message with their numbers.
    pub fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = varint(&mut bytes);
            let field = if tag & 7 == VARINT {
                Field::Integer(value)
            } else {
                let (own, rest) = bytes.split_at(value as usize);
                bytes = rest;
                Field::Bytes(own.to_vec())
            };
            fields.push((tag >> 3, field));
        }
        fields
    }

    #[test]
    fn bytes_are_those_of_the_specification() {
        // The examples of the description of the encoding.
        let mut message = Message::default();
        message.integer(1, 150);
        assert_eq!(message.clone().into_bytes(), [0x08, 0x96, 0x01]);
        let mut text = Message::default();
        text.text(2, "testing");
        assert_eq!(text.into_bytes(), *b"\x12\x07testing");
        let mut outer = Message::default();
        outer.message(3, &message);
        assert_eq!(outer.into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let mut negative = Message::default();
        negative.integer(1, -2);
        let ten = [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(negative.into_bytes(), ten);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut message = Message::default();
        message.integer(14, i64::MAX);
        message.text(300, "ä");
        let read = fields(&message.into_bytes());
        let wanted =
            [(14, Field::Integer(i64::MAX as u64)), (300, Field::Bytes("ä".as_bytes().to_vec()))];
        assert_eq!(read, wanted);
    }
}
