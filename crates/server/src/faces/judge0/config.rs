//! What this face allows, in Judge0's terms.

use serde_json::{Value as Json, json};

/// Submissions of this face that may wait at one time.
pub(crate) const MAX_QUEUE_SIZE: u32 = 10_000;
/// Submissions in one request.
pub(crate) const MAX_BATCH: usize = 20;
/// Seconds of CPU time of a run: what is used where nothing is asked for, and the most.
pub(crate) const CPU_TIME: (f64, f64) = (5.0, 15.0);
/// Seconds of patience beyond that. Taken and shown, of no effect: near the limit a run is repeated instead.
pub(crate) const CPU_EXTRA_TIME: (f64, f64) = (1.0, 5.0);
/// Seconds of elapsed time.
pub(crate) const WALL_TIME: (f64, f64) = (10.0, 20.0);
/// KiB of memory.
pub(crate) const MEMORY: (u64, u64) = (128_000, 512_000);
/// KiB of stack.
pub(crate) const STACK: (u64, u64) = (64_000, 128_000);
/// Processes and threads.
pub(crate) const PROCESSES: (u64, u64) = (60, 120);
/// KiB of output, files included.
pub(crate) const FILE_SIZE: (u64, u64) = (1024, 4096);
/// How often a program is run.
pub(crate) const RUNS: (u64, u64) = (1, 20);
/// KiB of all additional files, unpacked.
pub(crate) const MAX_EXTRACT_SIZE: u64 = 10_240;
/// Characters of options and of arguments.
pub(crate) const MAX_WORDS: usize = 512;
/// Times a callback is tried.
pub(crate) const CALLBACK_TRIES: u64 = 3;
/// Seconds each of them may take.
pub(crate) const CALLBACK_SECONDS: f64 = 5.0;

/// The answer of `GET /config_info`: the 39 keys of Judge0 1.13.1.
pub(crate) fn info() -> Json {
    json!({
        "maintenance_mode": false,
        "enable_wait_result": true,
        "enable_compiler_options": true,
        "allowed_languages_for_compile_options": [],
        "enable_command_line_arguments": true,
        "enable_submission_delete": true,
        "enable_callbacks": true,
        "callbacks_max_tries": CALLBACK_TRIES,
        "callbacks_timeout": CALLBACK_SECONDS,
        "enable_additional_files": true,
        "max_queue_size": MAX_QUEUE_SIZE,
        "cpu_time_limit": CPU_TIME.0,
        "max_cpu_time_limit": CPU_TIME.1,
        "cpu_extra_time": CPU_EXTRA_TIME.0,
        "max_cpu_extra_time": CPU_EXTRA_TIME.1,
        "wall_time_limit": WALL_TIME.0,
        "max_wall_time_limit": WALL_TIME.1,
        "memory_limit": MEMORY.0,
        "max_memory_limit": MEMORY.1,
        "stack_limit": STACK.0,
        "max_stack_limit": STACK.1,
        "max_processes_and_or_threads": PROCESSES.0,
        "max_max_processes_and_or_threads": PROCESSES.1,
        "enable_per_process_and_thread_time_limit": false,
        "allow_enable_per_process_and_thread_time_limit": false,
        "enable_per_process_and_thread_memory_limit": false,
        "allow_enable_per_process_and_thread_memory_limit": false,
        "max_file_size": FILE_SIZE.0,
        "max_max_file_size": FILE_SIZE.1,
        "number_of_runs": RUNS.0,
        "max_number_of_runs": RUNS.1,
        "redirect_stderr_to_stdout": false,
        "max_extract_size": MAX_EXTRACT_SIZE,
        "enable_batched_submissions": true,
        "max_submission_batch_size": MAX_BATCH,
        "submission_cache_duration": 0.0,
        "use_docs_as_homepage": false,
        "allow_enable_network": false,
        "enable_network": false,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn clients_want_each_of_the_keys() {
        assert_eq!(super::info().as_object().map(serde_json::Map::len), Some(39));
    }
}
