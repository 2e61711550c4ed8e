//! Credentials of a server: a password from a file or the environment, or a line of DOMjudge's own `etc/restapi.secret`.

/// Where the server is, and who we are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Address of the API.
    pub url: String,
    /// User.
    pub user: String,
    /// Password.
    pub password: String,
}

impl Account {
    /// The account of a file such as `etc/restapi.secret`: lines of a name, an address, a user and a password, with `#` before comments.
    ///
    /// # Errors
    /// It has not one such line. Servers asked in turn are not supported: one process for each does the same.
    pub fn of_secret(text: &str) -> Result<Account, String> {
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.split_whitespace().collect())
            .collect();
        match &lines[..] {
            [line] => match line[..] {
                [_, url, user, password] => {
                    Ok(Account { url: url.into(), user: user.into(), password: password.into() })
                }
                _ => Err("its line is not `name address user password`".into()),
            },
            [] => Err("it names no server".into()),
            _ => Err(format!(
                "it names {} servers\nhint: keep one line, and start one judgehost for each",
                lines.len()
            )),
        }
    }

    /// The header of HTTP's basic authentication (RFC 7617).
    pub fn authorization(&self) -> String {
        client::basic(&self.user, &self.password)
    }
}

/// Whether a name is one that the server takes for a judgehost.
pub fn is_host_name(name: &str) -> bool {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_file_as_domjudge_has_it() {
        let account =
            Account::of_secret("# comment\n\ndefault\thttp://localhost/api/v4  judgehost  s3cr#t\n").unwrap();
        assert_eq!((account.user.as_str(), account.password.as_str()), ("judgehost", "s3cr#t"));
        assert_eq!(account.authorization(), "Basic anVkZ2Vob3N0OnMzY3IjdA==");
        assert!(Account::of_secret("# none\n").is_err());
        assert!(Account::of_secret("a b c\n").is_err());
        assert!(Account::of_secret("a b c d\nb b c d\n").unwrap_err().contains("2 servers"));
    }

    #[test]
    fn names_of_hosts() {
        assert!(is_host_name("tauto-1.example_x"));
        assert!(!is_host_name("") && !is_host_name("a b") && !is_host_name(&"a".repeat(65)));
    }
}
