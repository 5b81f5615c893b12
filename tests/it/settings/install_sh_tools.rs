//! `install.sh` in other shells, and with a toolchain that lacks something.

use insta::assert_snapshot;

use crate::support::install_home::{MINE, result};
use crate::support::programs::write_program;

use super::install_sh_sandbox::Clone;

#[test]
fn install_sh_reports_toolchain_changes_and_how_to_undo_them() {
    let clone = Clone::new();
    let tool = |name: &str, script: &str| {
        let path = clone.at("bin").join(name);
        let _ = std::fs::remove_file(&path);
        write_program(&path, format!("#!/bin/sh\n{script}\n"));
    };
    let musl = "m68k-unknown-linux-musl";
    tool("rustc", "[ \"$1\" = --print ] && echo \"$HOME/sysroot\" || echo 'host: m68k-unknown-linux-gnu'");
    tool(
        "rustup",
        &format!("[ \"$*\" = 'target add {musl}' ] && mkdir -p \"$HOME/sysroot/lib/rustlib/{musl}\""),
    );
    let place = format!("target/{musl}/release");
    tool(
        "cargo",
        &format!(
            "mkdir -p {place} && for program in teamkeep teamkeep-hook; do ln -sf \"$HOME/bin/$program.built\" {place}/$program; done"
        ),
    );
    let result = clone.ok(&["--no-hooks"]);
    assert_snapshot!(result.lines().find(|line| line.starts_with("added")).unwrap(), @"added the target m68k-unknown-linux-musl to the toolchain; to remove it: rustup target remove m68k-unknown-linux-musl");
    assert!(!clone.ok(&["--no-hooks"]).contains("toolchain"), "it was there already");
}

#[test]
fn teamkeep_ship_is_static_where_the_other_programs_are() {
    let clone = Clone::new();
    for tool in ["cargo", "rustc"] {
        std::fs::remove_file(clone.at("bin").join(tool)).unwrap();
    }
    let place = "target/m68k-unknown-linux-musl/release";
    let rustc =
        "#!/bin/sh\n[ \"$1\" = --print ] && echo \"$HOME/sysroot\" || echo 'host: m68k-unknown-linux-gnu'\n";
    let cargo = format!(
        "#!/bin/sh\nmkdir -p {place} && for program in teamkeep teamkeep-hook; do ln -sf \"$HOME/bin/$program.built\" {place}/$program; done\n\
         printf '#!/bin/sh\\n' >{place}/teamkeep-ship\ncase $* in *--bins*) echo \"$@\" >>\"$HOME/builds\" ;; esac\n"
    );
    write_program(&clone.at("bin/rustc"), rustc);
    write_program(&clone.at("bin/cargo"), cargo);
    std::fs::create_dir_all(clone.at("sysroot/lib/rustlib/m68k-unknown-linux-musl")).unwrap();
    clone.ok(&["--with-ship", "--no-hooks"]);
    assert!(clone.at(".local/bin/teamkeep-ship").is_file());
    assert_snapshot!(std::fs::read_to_string(clone.at("builds")).unwrap(), @"build --release --locked --target m68k-unknown-linux-musl --config .cargo/static.toml --target-dir target --package teamkeep --package teamkeep-ship --bins");
}

#[test]
fn install_sh_behaves_the_same_in_every_posix_shell() {
    let mut tried = 0;
    for shell in ["/bin/sh", "/usr/bin/dash", "/usr/bin/posh", "/usr/bin/mksh", "/usr/bin/ksh"] {
        if !std::path::Path::new(shell).exists() {
            continue;
        }
        tried += 1;
        let clone = Clone::new();
        let run = |args: &[&str]| {
            let mut command = clone.command("clone/install.sh", args);
            command.env("INSTALL_SH", shell);
            let result = result(&clone.dir, &mut command);
            assert_eq!(result.code, Some(0), "{shell} {args:?}: {}", result.err);
            result.err
        };
        run(&["--prefix", "my tools"]);
        let result = run(&["--uninstall", "--prefix", "my tools"]);
        let ends = "\nremoved ~/my tools/bin/teamkeep-hook\n\
                    removed ~/my tools/bin/teamkeep\n\
                    backups of your settings are kept in ~/.local/share/teamkeep\n\
                    to delete them: rm -r ~/.local/share/teamkeep\n";
        assert!(
            result.starts_with(
                "removed 17 hooks from ~/.claude/settings.json; restored its previous content\n"
            )
        );
        assert!(result.ends_with(ends) && result.lines().count() == 6, "{shell}: {result}");
        assert_eq!(clone.home.read(), MINE);
        assert!(!clone.at("my tools").exists());
    }
    assert!(tried > 0);
}
