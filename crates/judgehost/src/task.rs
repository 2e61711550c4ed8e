//! What a server hands out.

use client::segment;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Which of its versions a server speaks. The tasks themselves tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// 8.3: no passes, no overshoot of a rejudging.
    V8,
    /// 9.0.
    V9,
    /// What comes after 9.0: contests have a part in paths.
    Main,
}

/// A task, as it came.
#[derive(Clone, Debug, Deserialize)]
pub struct Task {
    /// Names the run in every report.
    #[serde(rename = "judgetaskid")]
    pub id: u64,
    /// What is to be done.
    #[serde(default, rename = "type", deserialize_with = "text")]
    pub kind: String,
    /// The judging it belongs to.
    #[serde(default, rename = "jobid", deserialize_with = "text")]
    pub job: String,
    /// The same, also where a database was created again.
    #[serde(default, deserialize_with = "text")]
    pub uuid: String,
    /// The submission; empty in a prefetch.
    #[serde(default, rename = "submitid", deserialize_with = "text")]
    pub submission: String,
    /// The contest; empty before the main branch.
    #[serde(default, rename = "contestid", deserialize_with = "text")]
    pub contest: String,
    /// The executable that compiles.
    #[serde(default, deserialize_with = "text")]
    pub compile_script_id: String,
    /// The executable that runs, or that talks to the submission.
    #[serde(default, deserialize_with = "text")]
    pub run_script_id: String,
    /// The executable that compares.
    #[serde(default, deserialize_with = "text")]
    pub compare_script_id: String,
    /// The test.
    #[serde(default, deserialize_with = "text")]
    pub testcase_id: String,
    /// MD5 of its input, `_`, MD5 of its answer.
    #[serde(default, deserialize_with = "text")]
    pub testcase_hash: String,
    /// The pass whose output is wanted, of a task that asks for more; empty before the main branch.
    #[serde(default, deserialize_with = "text")]
    pub pass: String,
    /// How to compile.
    #[serde(default, deserialize_with = "nested")]
    pub compile_config: CompileConfig,
    /// How to run.
    #[serde(default, deserialize_with = "nested")]
    pub run_config: RunConfig,
    /// How to compare.
    #[serde(default, deserialize_with = "nested")]
    pub compare_config: CompareConfig,
}

/// How to compile.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct CompileConfig {
    /// Elapsed time of the script in seconds.
    pub script_timelimit: Number,
    /// Its memory in KiB.
    pub script_memory_limit: Number,
    /// What it may write, in KiB.
    pub script_filesize_limit: Number,
    /// Suffixes of source files.
    #[serde(deserialize_with = "or_default")]
    pub language_extensions: Vec<String>,
    /// Only files with these are passed to the script.
    #[serde(deserialize_with = "or_default")]
    pub filter_compiler_files: bool,
    /// Of the executable.
    #[serde(deserialize_with = "text")]
    pub hash: String,
}

/// How to run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RunConfig {
    /// CPU time in seconds.
    pub time_limit: Number,
    /// Memory in KiB.
    pub memory_limit: Number,
    /// Output in KiB.
    pub output_limit: Number,
    /// Processes.
    pub process_limit: Number,
    /// The class or file to begin in.
    #[serde(deserialize_with = "text")]
    pub entry_point: String,
    /// Most passes; absent before 9.0.
    pub pass_limit: Option<Number>,
    /// Seconds more before a run is ended, of a rejudging.
    pub overshoot: Option<Number>,
    /// Of the executable.
    #[serde(deserialize_with = "text")]
    pub hash: String,
}

/// How to compare.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct CompareConfig {
    /// Elapsed time of the script in seconds.
    pub script_timelimit: Number,
    /// Its memory in KiB.
    pub script_memory_limit: Number,
    /// What it may write, in KiB.
    pub script_filesize_limit: Number,
    /// Its arguments, split at blanks.
    #[serde(deserialize_with = "text")]
    pub compare_args: String,
    /// The run executable compares too, talking to the submission.
    #[serde(deserialize_with = "or_default")]
    pub combined_run_compare: bool,
    /// Tests have scores.
    #[serde(deserialize_with = "or_default")]
    pub is_scoring_problem: bool,
    /// Of the executable.
    #[serde(deserialize_with = "text")]
    pub hash: String,
}

/// A number, which may come as a string.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
        let value = Value::deserialize(from)?;
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null => Some(0.0),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        number.map(Number).ok_or_else(|| serde::de::Error::custom(format!("`{value}` is not a number")))
    }
}

impl Number {
    /// As seconds.
    pub fn seconds(self) -> model::Nanos {
        model::Nanos((self.0 * 1e9) as u64)
    }

    /// As KiB.
    pub fn kib(self) -> model::Bytes {
        model::Bytes((self.0 * 1024.0) as u64)
    }

    /// As a count.
    pub fn count(self) -> u32 {
        self.0 as u32
    }
}

/// A string, a number or nothing.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// What may be null.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// JSON in a string, or as it is.
fn nested<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    let parsed = match Value::deserialize(from)? {
        Value::Null => Ok(T::default()),
        Value::String(text) => serde_json::from_str(&text),
        other => serde_json::from_value(other),
    };
    parsed.map_err(serde::de::Error::custom)
}

/// What came of asking for work.
#[derive(Clone, Debug)]
pub enum Work {
    /// Nothing is to be done, or this host is disabled.
    None,
    /// There may be some at once.
    TryAgain,
    /// Tasks of one kind and one submission: each as it came.
    Tasks(Vec<Value>),
}

impl Work {
    /// Reads an answer.
    ///
    /// # Errors
    /// It is no list of tasks.
    pub fn read(answer: &Value) -> Result<Work, String> {
        let list = answer.as_array().ok_or("the answer to a request for work is not a list")?;
        Ok(match list.first() {
            None => Work::None,
            Some(first) if first["type"] == "try_again" => Work::TryAgain,
            Some(_) => Work::Tasks(list.clone()),
        })
    }
}

impl Task {
    /// Reads a task.
    ///
    /// # Errors
    /// It is none.
    pub fn read(value: &Value) -> Result<Task, String> {
        Task::deserialize(value).map_err(|e| format!("a task that cannot be read: {e}"))
    }

    /// Which version the server speaks.
    pub fn dialect(&self) -> Dialect {
        match (self.contest.is_empty(), self.run_config.pass_limit) {
            (false, _) => Dialect::Main,
            (true, Some(_)) => Dialect::V9,
            (true, None) => Dialect::V8,
        }
    }

    /// The path of its sources.
    pub fn sources(&self) -> String {
        let submission = segment(&self.submission);
        match self.dialect() {
            Dialect::Main => format!("judgehosts/get_files/source/{}/{submission}", segment(&self.contest)),
            Dialect::V8 | Dialect::V9 => format!("judgehosts/get_files/source/{submission}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn task(more: Value) -> Task {
        let mut all = json!({
            "judgetaskid": 7, "type": "judging_run", "priority": 0, "jobid": "5", "uuid": "u", "submitid": "3",
            "compile_script_id": "1", "run_script_id": "2", "compare_script_id": "3", "testcase_id": "4", "testcase_hash": "a_b",
            "compile_config": "{\"script_timelimit\": 30, \"language_extensions\": [\"c\"], \"filter_compiler_files\": true, \"hash\": \"h\"}",
            "run_config": "{\"time_limit\": 1.5, \"memory_limit\": \"2097152\", \"entry_point\": null, \"hash\": \"h\"}",
            "compare_config": "{\"compare_args\": null, \"combined_run_compare\": false, \"hash\": \"h\"}",
        });
        for (key, value) in more.as_object().unwrap() {
            all[key] = value.clone();
        }
        Task::read(&all).unwrap()
    }

    #[test]
    fn the_tasks_tell_the_dialect() {
        let old = task(json!({}));
        assert_eq!((old.dialect(), old.sources().as_str()), (Dialect::V8, "judgehosts/get_files/source/3"));
        assert_eq!(old.run_config.memory_limit.kib().mib(), 2048);
        assert_eq!(old.run_config.time_limit.seconds(), model::Nanos::from_millis(1500));
        assert_eq!(old.compile_config.language_extensions, ["c"]);
        let nine = task(json!({ "run_config": "{\"pass_limit\": 1, \"overshoot\": 0}", "submitid": 9 }));
        assert_eq!((nine.dialect(), nine.sources().as_str()), (Dialect::V9, "judgehosts/get_files/source/9"));
        let main = task(json!({ "contestid": "../x", "submitid": "..", "run_config": null }));
        assert_eq!(main.dialect(), Dialect::Main);
        assert_eq!(main.sources(), "judgehosts/get_files/source/..%2Fx/%2E%2E");
    }

    #[test]
    fn answers_to_asking_for_work() {
        assert!(matches!(Work::read(&json!([])), Ok(Work::None)));
        assert!(matches!(Work::read(&json!([{ "type": "try_again" }])), Ok(Work::TryAgain)));
        assert!(matches!(Work::read(&json!([{ "judgetaskid": 1 }])), Ok(Work::Tasks(_))));
        assert!(Work::read(&json!({})).is_err());
        assert!(Task::read(&json!({ "judgetaskid": 1, "run_config": "{" })).is_err());
        assert!(Task::read(&json!({ "judgetaskid": 1, "run_config": "{\"time_limit\": -1}" })).is_err());
    }
}
