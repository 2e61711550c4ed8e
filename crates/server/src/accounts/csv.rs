//! Lists of users as spreadsheets write them: RFC 4180, with commas or semicolons.

/// The rows of a table, without those that are empty.
///
/// # Errors
/// The number of the row, and what is wrong.
pub(super) fn rows(text: &str) -> Result<Vec<Vec<String>>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().next().unwrap_or_default();
    let comma = if first.contains(';') && !first.contains(',') { ';' } else { ',' };
    let mut rows = Vec::new();
    let mut row = vec![String::new()];
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let field = row.last_mut().ok_or("no field")?;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' if quoted => quoted = false,
            '"' if field.is_empty() => quoted = true,
            letter if quoted => field.push(letter),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' => rows.push(std::mem::replace(&mut row, vec![String::new()])),
            letter if letter == comma => row.push(String::new()),
            letter => field.push(letter),
        }
    }
    if quoted {
        return Err(format!("row {}: a quotation mark is not closed", rows.len() + 1));
    }
    rows.push(row);
    for field in rows.iter_mut().flatten() {
        *field = field.trim().to_string();
    }
    rows.retain(|row| row.iter().any(|field| !field.is_empty()));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let check = |text: &str, expected: &[&[&str]]| {
            assert_eq!(rows(text).unwrap(), expected, "{text:?}");
        };
        check("", &[]);
        check("ann,Ann A\nbob,Bob\n", &[&["ann", "Ann A"], &["bob", "Bob"]]);
        check(
            "\u{feff}ann;\"A; \"\"Ann\"\"\"\r\n\r\n;\r\nbob; Bob ",
            &[&["ann", "A; \"Ann\""], &["bob", "Bob"]],
        );
        check("a,\"two\nlines\"", &[&["a", "two\nlines"]]);
        assert_eq!(rows("a\nb,\"c").unwrap_err(), "row 2: a quotation mark is not closed");
    }
}
