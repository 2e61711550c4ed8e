//! Settings of the service that are changed while it runs: a JSON value by name.

use crate::db::values;
use crate::{Result, Store};
use serde_json::Value as Json;

impl Store {
    /// The value of a setting, where it was set.
    pub async fn setting(&self, name: &str) -> Result<Option<Json>> {
        let mut tx = self.db.read().await?;
        let row = tx.row("SELECT value FROM settings WHERE name = $1", values![name]).await?;
        row.map(|row| row.json("value")).transpose()
    }

    /// Sets a setting.
    pub async fn set_setting(&self, name: &str, value: &Json) -> Result<()> {
        let mut tx = self.db.write().await?;
        tx.run(
            "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            values![name, value.to_string()],
        )
        .await?;
        tx.commit().await
    }

    /// Sets a setting that is not set, and returns its value: of several who do this at once, all get the same.
    pub async fn setting_or(&self, name: &str, value: &Json) -> Result<Json> {
        if let Some(set) = self.setting(name).await? {
            return Ok(set);
        }
        let mut tx = self.db.write().await?;
        let row = tx
            .one(
                "INSERT INTO settings (name, value) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = settings.value RETURNING value",
                values![name, value.to_string()],
            )
            .await?;
        let value = row.json("value")?;
        tx.commit().await?;
        Ok(value)
    }

    /// Removes a setting if it still has this value; whether it did. Of several who try, one succeeds.
    pub async fn take_setting(&self, name: &str, value: &Json) -> Result<bool> {
        let mut tx = self.db.write().await?;
        let taken = tx
            .run("DELETE FROM settings WHERE name = $1 AND value = $2", values![name, value.to_string()])
            .await?;
        tx.commit().await?;
        Ok(taken > 0)
    }
}
