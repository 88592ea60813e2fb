// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

/// Which variables a job can let a user set for one run.
@Suite struct RunVariableNameTests {
    /// Each of them makes some program run code of the user who sets it, or use a file of that user.
    @Test(arguments: [
        "TAR_OPTIONS", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "LUA_INIT",
        "LUA_INIT_5_4", "LUA_PATH_5_3", "JDK_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS",
        "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_ASKPASS", "SSH_ASKPASS",
        "MAKEFLAGS", "MAKEFILES", "LESSOPEN", "LESSCLOSE", "GTK_MODULES", "GTK_PATH",
        "QT_PLUGIN_PATH", "BORG_RSH", "BORG_PASSCOMMAND", "BORG_REMOTE_PATH",
        "RESTIC_PASSWORD_COMMAND", "RCLONE_PASSWORD_COMMAND", "RCLONE_CONFIG", "PYTHONINSPECT",
        "PYTHONWARNINGS", "RUBYSHELL", "NPM_CONFIG_SCRIPT_SHELL", "npm_config_script_shell",
        "COR_PROFILER_PATH", "CORECLR_PROFILER", "MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS",
        "CARGO_BUILD_RUSTC_WRAPPER", "RUSTC_WRAPPER", "GOFLAGS", "CC", "CXX", "LD", "PERL_MB_OPT",
        "PGSSLKEY", "PGSERVICEFILE", "PSQLRC", "PSQL_PAGER", "MYSQL_HOME", "ODBCINI", "ODBCSYSINI",
        "KRB5_CONFIG", "SSL_CERT_FILE", "CURL_HOME", "WGETRC", "XDG_CONFIG_HOME", "INPUTRC",
        "TERMINFO", "TERMCAP", "ZDOTDIR", "FPATH", "CDPATH", "GLOBIGNORE", "SYSTEMD_EDITOR",
        "SYSTEMD_PAGER", "ANSIBLE_CONFIG", "DOCKER_CONFIG", "KUBECONFIG", "TF_CLI_CONFIG_FILE",
        "BASH_FUNC_ls%%", "LD_PRELOAD", "PATH",
    ])
    func whatDecidesWhichCodeIsLoadedIsRefused(name: String) {
        #expect(RunVariables.fault(inName: name) != nil)
    }
}
