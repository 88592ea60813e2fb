// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The variables that somebody sets for one run, beside those of its job. They may be secrets: they are kept in memory
/// alone, and no text has their values.
public struct RunVariables: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The most of them.
    public static let countMax = 64
    /// The most bytes of all names and values together.
    public static let bytesMax = 32 << 10

    /// By their names.
    public let values: [String: String]
    /// Whether there were some in an earlier instance of the daemon, which are gone with it: the run is not started
    /// without them, and neither is a further attempt at it.
    public let areLost: Bool

    /// None.
    public init() { (values, areLost) = ([:], false) }

    /// These.
    public init(_ values: [String: String]) { (self.values, areLost) = (values, false) }

    private init(areLost: Bool) { (values, self.areLost) = ([:], areLost) }

    /// Those of a run that was recorded with some.
    public static let lost = RunVariables(areLost: true)

    /// Whether the run has none and never had.
    public var isEmpty: Bool { values.isEmpty && !areLost }

    /// How many bytes they take, roughly.
    public var cost: Int { values.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 64 } }

    public var description: String {
        isEmpty ? "none" : areLost ? "lost" : plural(values.count, "variable")
    }

    /// Without the values, for whatever prints what it holds.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Why a run may not have them; nil if it may.
    ///
    /// - Parameter allowed: the names that its job allows.
    public func fault(allowed: Set<String>) -> String? {
        guard values.count <= Self.countMax else {
            return "has \(values.count) variables; at most \(Self.countMax)"
        }
        let bytes = values.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard bytes <= Self.bytesMax else {
            return "its variables have \(bytes) bytes; at most \(Self.bytesMax)"
        }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard allowed.contains(name), Self.fault(inName: name) == nil else {
                return
                    "run-environment of the job does not allow \(name.prefix(64).debugDescription)"
            }
            guard !value.utf8.contains(0) else { return "the value of \(name) has a NUL character" }
        }
        return nil
    }

    private static let reservedPrefixes = ["LD_", "BASH_FUNC_", "DYLD_"]
    /// What a program loads or runs by the value of a variable: the dynamic linker and the C library (ld.so(8)), shells,
    /// and the usual interpreters. It is no list of everything.
    private static let reserved: Set<String> = [
        "PATH", "HOME", "SHELL", "USER", "LOGNAME", "IFS", "ENV", "BASH_ENV", "SHELLOPTS",
        "BASHOPTS",
        "PS4", "PROMPT_COMMAND", "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES",
        "LOCALDOMAIN", "LOCPATH", "NLSPATH", "RES_OPTIONS", "RESOLV_HOST_CONF", "TMPDIR", "TZDIR",
        "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5LIB", "PERLLIB", "PERL5OPT", "PERL5DB",
        "RUBYLIB", "RUBYOPT", "NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
        "PHPRC", "PHP_INI_SCAN_DIR", "LUA_PATH", "LUA_CPATH", "EDITOR", "VISUAL", "PAGER",
        "GIT_SSH", "GIT_SSH_COMMAND", "RSYNC_RSH",
    ]

    /// What is wrong with a name that a job would allow, as the end of a sentence; nil if nothing is.
    public static func fault(inName name: String) -> String? {
        guard !reserved.contains(name), !reservedPrefixes.contains(where: { name.hasPrefix($0) })
        else {
            return "\"\(name)\" decides what a program loads or runs, and cannot be set for a run"
        }
        return nil
    }
}
