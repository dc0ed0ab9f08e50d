//! Whether a lock on this disk also excludes other machines.
//!
//! The ledger is correct only if one program at a time changes it. On a local disk a lock ensures
//! this. On a shared disk it depends on how the disk was mounted:
//!
//! | disk | a lock holds | unless it is mounted with |
//! |---|---|---|
//! | Lustre | on all machines with `flock` | `localflock` (one machine), nothing or `noflock` (no lock at all: the system says so) |
//! | NFS | on all machines | `nolock`, `local_lock=flock` or `local_lock=all` (one machine) |
//! | SMB | on all machines | `nobrl` (one machine) |
//! | GFS2, OCFS2 | on all machines | `localflocks` (one machine) |
//! | CephFS, GlusterFS | on all machines | |
//! | GPFS, BeeGFS, FUSE, 9p and others of many machines | as they are configured, which no mount shows | |

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Action, Error, Result};

static IS_ALONE: AtomicBool = AtomicBool::new(false);

/// From here on this process trusts its user that no other machine uses its workspaces.
pub fn on_one_machine() {
    IS_ALONE.store(true, Ordering::Relaxed);
}

/// Which machines see a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Locks {
    /// Other machines see the locks.
    Everywhere,
    /// Other machines do not see locks, because of this mount option.
    HereAlone { disk: String, option: String, cure: &'static str },
    /// Whether other machines see the locks cannot be determined here.
    Unknown { disk: String },
}

/// The mounts of this machine, and the folder without symbolic links.
fn mounts(folder: &Path) -> (String, PathBuf) {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    (table, std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()))
}

/// Refuses to change a ledger in a folder where locks do not exclude other machines; returns a
/// remark where this is unknown.
pub(super) fn check(folder: &Path) -> Result<Option<String>> {
    let (table, folder) = mounts(folder);
    check_locks(locks(&table, &folder), &folder, IS_ALONE.load(Ordering::Relaxed))
}

/// Whether every machine that sees this folder certainly also sees the locks on it.
pub fn locks_reach(folder: &Path) -> bool {
    matches!(check(folder), Ok(None))
}

/// The kind of disk that holds this folder, and which machines see locks on it.
pub fn about(folder: &Path) -> (Option<String>, &'static str) {
    let (table, folder) = mounts(folder);
    let reach = match locks(&table, &folder) {
        Locks::Everywhere => "every machine",
        Locks::HereAlone { .. } => "this machine alone",
        Locks::Unknown { .. } => "unknown",
    };
    (mount_of(&table, &folder).map(|mount| mount.kind), reach)
}

fn check_locks(locks: Locks, folder: &Path, is_alone: bool) -> Result<Option<String>> {
    match locks {
        Locks::Everywhere => Ok(None),
        _ if is_alone => Ok(None),
        Locks::HereAlone { disk, option, cure } => Err(Error::refused(format!(
            "locks on this disk ({disk}, mounted with '{option}') keep no other machine out: two \
             of them could spend the same budget"
        ))
        .at(folder.display().to_string())
        .cure(format!(
            "{cure}, or keep the workspace on a disk of one machine; or say that no other machine \
             uses it"
        ))
        .asking(Action::TrustLocks)),
        Locks::Unknown { disk } => Ok(Some(format!(
            "{}: whether locks on this disk ({disk}) keep other machines out cannot be seen; use \
             the workspace from one machine at a time",
            folder.display()
        ))),
    }
}

/// `table` is the content of `/proc/self/mountinfo` on Linux; without it every disk counts as
/// local.
fn locks(table: &str, folder: &Path) -> Locks {
    let Some(mount) = mount_of(table, folder) else { return Locks::Everywhere };
    let without = "mount it without that option";
    let (options, cure): (&[&str], _) = match mount.kind.as_str() {
        "lustre" => (&["localflock"], "mount it with the option 'flock'"),
        "nfs" | "nfs4" => (&["nolock", "local_lock=flock", "local_lock=all"], without),
        "cifs" | "smb3" | "smbfs" => (&["nobrl"], without),
        "gfs2" | "ocfs2" => (&["localflocks"], without),
        // Known to be on a disk of this machine.
        "fuse.fuse-overlayfs" | "fuse.ntfs-3g" | "fuse.gocryptfs" | "fuse.encfs" => {
            return Locks::Everywhere;
        }
        "gpfs" | "beegfs" | "beegfs_nodev" | "9p" | "afs" | "pvfs2" | "orangefs" | "panfs"
        | "wekafs" | "vboxsf" | "virtiofs" | "prl_fs" => {
            return Locks::Unknown { disk: mount.kind };
        }
        kind if kind.starts_with("fuse.") => return Locks::Unknown { disk: mount.kind },
        _ => return Locks::Everywhere,
    };
    match options.iter().find(|option| mount.options.iter().any(|it| it == *option)) {
        Some(option) => Locks::HereAlone { disk: mount.kind, option: (*option).to_owned(), cure },
        None => Locks::Everywhere,
    }
}

/// The deepest mount holds the folder; if there are several at one place, the last one covers the
/// others.
fn mount_of(table: &str, folder: &Path) -> Option<Mount> {
    let mounts = table.lines().filter_map(Mount::parse);
    let mounts = mounts.filter(|mount| folder.starts_with(&mount.place));
    mounts.max_by_key(|mount| Path::new(&mount.place).components().count())
}

struct Mount {
    place: String,
    kind: String,
    options: Vec<String>,
}

impl Mount {
    /// `36 35 98:0 /mnt1 /mnt/place rw,noatime shared:1 - ext3 /dev/root rw,errors=continue`
    fn parse(line: &str) -> Option<Self> {
        let (mount, disk) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(4);
        let (place, options) = (mount.next()?, mount.next()?);
        let mut disk = disk.split(' ');
        let (kind, _, more) = (disk.next()?, disk.next()?, disk.next().unwrap_or_default());
        let options = options.split(',').chain(more.split(',')).map(str::to_owned).collect();
        Some(Self { place: plain(place), kind: kind.to_owned(), options })
    }
}

/// With escaped blanks decoded: `/my\040disk` is `/my disk`.
fn plain(place: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(place.to_owned(), |place, (code, letter)| place.replace(code, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n";

    fn found(mount: &str, folder: &str) -> Locks {
        locks(&format!("{ROOT}{mount}"), Path::new(folder))
    }

    #[test]
    fn a_disk_of_one_machine_and_a_shared_one_that_locks_for_all_are_used_in_silence() {
        for mount in [
            "",
            "40 22 0:40 / /scratch rw - lustre mgs@tcp:/fs rw,flock,user_xattr",
            "40 22 0:40 / /scratch rw - nfs4 server:/x rw,vers=4.2,local_lock=none",
            "40 22 0:40 / /scratch rw - nfs server:/x rw,vers=3,local_lock=posix",
            "40 22 0:40 / /scratch rw - cifs //server/x rw,vers=3.1.1",
            "40 22 0:40 / /scratch rw - ceph 10.0.0.1:/ rw",
            "40 22 0:40 / /other rw - lustre mgs@tcp:/fs rw,localflock",
            "no mount at all",
        ] {
            assert_eq!(found(mount, "/scratch/me/work"), Locks::Everywhere, "{mount}");
        }
        assert_eq!(locks("", Path::new("/scratch")), Locks::Everywhere);
    }

    #[test]
    fn locks_of_one_machine_on_a_shared_disk_are_refused_with_option_and_cure() {
        for (mount, option) in [
            ("40 22 0:40 / /scratch rw shared:7 - lustre mgs@tcp:/fs rw,localflock", "localflock"),
            ("40 22 0:40 / /scratch rw - nfs server:/x rw,vers=3,nolock", "nolock"),
            ("40 22 0:40 / /scratch rw - nfs4 server:/x rw,local_lock=all", "local_lock=all"),
            ("40 22 0:40 / /scratch rw - cifs //server/x rw,nobrl", "nobrl"),
            ("40 22 0:40 / /scratch rw,localflocks - gfs2 /dev/x rw", "localflocks"),
        ] {
            let folder = Path::new("/scratch/me/work");
            let locks = found(mount, "/scratch/me/work");
            let error = check_locks(locks.clone(), folder, false).unwrap_err().to_string();
            assert!(error.contains(&format!("mounted with '{option}'")), "{error}");
            assert!(error.contains("/scratch/me/work") && error.contains("no other"), "{error}");
            assert_eq!(check_locks(locks, folder, true).unwrap(), None);
        }
    }

    #[test]
    fn a_disk_that_does_not_show_it_gets_a_remark_and_the_deepest_mount_counts() {
        let gpfs = "40 22 0:40 / /gpfs rw - gpfs fs1 rw";
        let remark = check_locks(found(gpfs, "/gpfs/me"), Path::new("/gpfs/me"), false).unwrap();
        assert!(remark.unwrap().contains("(gpfs)"));
        let bucket = found("40 22 0:40 / /bucket rw - fuse.gcsfuse bucket rw", "/bucket/me");
        assert_eq!(bucket, Locks::Unknown { disk: "fuse.gcsfuse".to_owned() });
        let local = format!("{gpfs}\n41 40 8:2 / /gpfs/my\\040disk rw - xfs /dev/sdb rw");
        assert_eq!(found(&local, "/gpfs/my disk/work"), Locks::Everywhere);
        let covered = format!("{gpfs}\n41 40 8:2 / /gpfs rw - xfs /dev/sdb rw");
        assert_eq!(found(&covered, "/gpfs/work"), Locks::Everywhere);
    }
}
