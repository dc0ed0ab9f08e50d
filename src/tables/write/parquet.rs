//! Parquet: optional doubles and strings, uncompressed, in row groups of a size that suits readers.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::column::Column;
use crate::texts::{TextWindow, Texts};

const ROWS_IN_A_GROUP: usize = 1 << 17;

type Out<'a> = &'a mut (dyn Write + Send);

pub(super) fn write(columns: &[(String, Column)], out: Out<'_>) -> Result<(), ParquetError> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let properties = WriterProperties::builder()
        .set_created_by(format!("halflight {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file = SerializedFileWriter::new(out, schema(columns)?, Arc::new(properties))?;
    for first in (0..rows).step_by(ROWS_IN_A_GROUP) {
        let last = rows.min(first + ROWS_IN_A_GROUP);
        let mut group = file.next_row_group()?;
        let mut room = Vec::new();
        for (_, column) in columns {
            match column {
                Column::Numbers(numbers) => {
                    write_numbers(&mut group, numbers.read(first..last, &mut room))?;
                }
                Column::Text(texts) => write_texts(&mut group, texts, first..last)?,
                Column::Vectors(_) => {}
            }
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn schema(columns: &[(String, Column)]) -> Result<Arc<Type>, ParquetError> {
    let field = |(name, column): &(String, Column)| {
        let field = match column {
            Column::Text(_) => Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8),
            Column::Numbers(_) | Column::Vectors(_) => {
                Type::primitive_type_builder(name, Physical::DOUBLE)
            }
        };
        field.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

type Group<'a, 'b> = SerializedRowGroupWriter<'a, Out<'b>>;

fn write_numbers(group: &mut Group<'_, '_>, numbers: &[f64]) -> Result<(), ParquetError> {
    let levels: Vec<i16> = numbers.iter().map(|number| i16::from(!number.is_nan())).collect();
    let present: Vec<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}

fn write_texts(
    group: &mut Group<'_, '_>,
    texts: &Texts,
    rows: Range<usize>,
) -> Result<(), ParquetError> {
    let levels = vec![1; rows.len()];
    let mut window = TextWindow::default();
    let texts: Vec<ByteArray> = rows.map(|row| window.get(texts, row).into()).collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}
