// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which names a job can let users set for one run.
extension RunVariables {
    /// The beginning of names that no program takes options or code from, because they are made for a job's own
    /// variables.
    public static let ownPrefix = "RUN_"

    /// What is wrong with a name in `run-environment`, as the end of a sentence; nil if nothing is.
    ///
    /// Hundreds of programs take options, files or code from variables of their own, and a list of these is never
    /// complete. So a name must have the prefix, unless it is named in `run-environment-any`.
    public static func fault(inOwnName name: String) -> String? {
        if let fault = fault(inName: name) { return fault }
        guard name.hasPrefix(ownPrefix), name.utf8.count > ownPrefix.utf8.count else {
            return
                "\"\(name)\" does not begin with \(ownPrefix); name it in run-environment-any, if no program of the job "
                + "takes options or code from it"
        }
        return nil
    }

    /// What is wrong with a name in `run-environment-any`, as the end of a sentence; nil if nothing is. This is a
    /// second wall: it knows only the names that are known to be dangerous.
    public static func fault(inName name: String) -> String? {
        let upper = name.uppercased()
        guard !reserved.contains(upper), !reservedPrefixes.contains(where: { upper.hasPrefix($0) })
        else {
            return "\"\(name)\" decides what a program loads or runs, and cannot be set for a run"
        }
        return nil
    }

    private static let reservedPrefixes = [
        "LD_", "DYLD_", "BASH_FUNC_", "PYTHON", "PERL", "RUBY", "LUA_INIT", "LUA_PATH",
        "LUA_CPATH", "OPENSSL_", "GIT_CONFIG", "GIT_TRACE", "NPM_CONFIG_", "CORECLR_", "COR_",
        "DOTNET_", "CARGO_BUILD_", "CARGO_TARGET_", "SYSTEMD_",
    ]

    /// Variables that decide what a program loads or runs: those of the dynamic linker and the C library (ld.so(8)), of
    /// shells, of interpreters, and of common programs. The list is not complete.
    private static let reserved: Set<String> = [
        // The C library, logins and shells.
        "PATH", "HOME", "SHELL", "USER", "LOGNAME", "IFS", "ENV", "BASH_ENV", "SHELLOPTS",
        "BASHOPTS", "PS4", "PROMPT_COMMAND", "ZDOTDIR", "FPATH", "CDPATH", "GLOBIGNORE",
        "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH",
        "NLSPATH", "RES_OPTIONS", "RESOLV_HOST_CONF", "TMPDIR", "TZDIR", "MALLOC_TRACE",
        "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "INPUTRC",
        "TERMINFO", "TERMINFO_DIRS", "TERMCAP",
        // Interpreters, virtual machines and what starts them.
        "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "JAVA_HOME", "CLASSPATH",
        "CATALINA_OPTS", "MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "SBT_OPTS", "ANT_OPTS",
        "PHPRC", "PHP_INI_SCAN_DIR", "ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS",
        "ELIXIR_ERL_OPTIONS", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER",
        "R_LIBS", "TCLLIBPATH", "GUILE_LOAD_PATH", "AWKPATH", "AWKLIBPATH", "PSMODULEPATH",
        // Build tools and compilers.
        "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "CC", "CXX", "CPP", "LD", "AR", "AS",
        "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "GOFLAGS",
        "GOTOOLDIR", "GCC_EXEC_PREFIX", "COMPILER_PATH", "CMAKE_TOOLCHAIN_FILE",
        // Programs that start others, or read their options from a variable.
        "EDITOR", "VISUAL", "PAGER", "BROWSER", "MANPAGER", "LESS", "LESSOPEN", "LESSCLOSE",
        "LESSKEY", "LESSKEYIN", "LESSEDIT", "TAR_OPTIONS", "TAPE", "RSH", "CVS_RSH", "SVN_SSH",
        "SVN_EDITOR", "HGRCPATH", "HGEDITOR", "RSYNC_RSH", "RSYNC_CONNECT_PROG", "GIT_SSH",
        "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_PROXY_COMMAND", "GIT_TEMPLATE_DIR", "GIT_DIR",
        "GIT_WORK_TREE", "SSH_ASKPASS", "SUDO_ASKPASS", "SUDO_EDITOR", "BORG_RSH",
        "BORG_PASSCOMMAND", "BORG_REMOTE_PATH", "RESTIC_PASSWORD_COMMAND",
        "RCLONE_PASSWORD_COMMAND", "RCLONE_CONFIG", "PSQLRC", "PSQL_EDITOR", "PSQL_PAGER",
        "PGSERVICEFILE", "PGSYSCONFDIR", "PGSSLKEY", "PGSSLLIB", "MYSQL_HOME",
        "MYSQL_TEST_LOGIN_FILE", "LIBMYSQL_PLUGIN_DIR", "LIBMYSQL_PLUGINS", "ODBCINI",
        "ODBCSYSINI", "ODBCINSTINI", "ANSIBLE_CONFIG", "ANSIBLE_LIBRARY", "DOCKER_CONFIG",
        "KUBECONFIG", "TF_CLI_CONFIG_FILE", "TF_CLI_ARGS", "AWS_CONFIG_FILE",
        "CLOUDSDK_PYTHON", "PARALLEL", "PARALLEL_SHELL", "ZIPOPT", "UNZIP", "GREP_OPTIONS",
        // TLS, Kerberos and programs that fetch.
        "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "KRB5_CONFIG", "KRB5_KTNAME",
        "CURL_HOME", "CURL_CA_BUNDLE", "WGETRC", "SYSTEM_WGETRC", "REQUESTS_CA_BUNDLE",
        "P11_KIT_MODULE_PATH", "SOFTHSM2_CONF", "GNUPGHOME", "NETRC",
        // Modules of libraries for windows, sound and pictures.
        "GTK_MODULES", "GTK_PATH", "GTK3_MODULES", "GTK_EXE_PREFIX", "GIO_EXTRA_MODULES",
        "GIO_MODULE_DIR", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH", "QML2_IMPORT_PATH",
        "MAGICK_CONFIGURE_PATH", "MAGICK_CODER_MODULE_PATH", "GST_PLUGIN_PATH",
        "GST_PLUGIN_SCANNER", "ALSA_CONFIG_PATH", "LIBGL_DRIVERS_PATH", "VK_ICD_FILENAMES",
    ]
}
