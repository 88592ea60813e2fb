// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The user this process runs as.
struct Account {
    /// Where programs named without a slash are looked for, unless a job declares its own PATH.
    static let searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    /// The most bytes an entry of the user database may have.
    static let entryBytesMax = 1 << 20

    var name: String
    var home: String
    var shell: String

    /// What a job's environment has of it.
    var variables: [String: String] {
        [
            "PATH": Self.searchPath, "HOME": home, "SHELL": shell, "USER": name, "LOGNAME": name,
        ]
    }

    /// Looks up the effective user. One without an entry is known by its number, with `/` for a home; an
    /// empty field is what login(1) takes for it.
    static func current() -> Account {
        let user = geteuid()
        var size = 1024
        while size <= entryBytesMax {
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            var buffer = [CChar](repeating: 0, count: size)
            let account: Account?
            let code: Int32
            (account, code) = buffer.withUnsafeMutableBufferPointer { buffer in
                // A buffer of at least one byte has an address.
                let code = getpwuid_r(user, &entry, buffer.baseAddress!, buffer.count, &found)
                guard code == 0, found != nil else { return (nil, code) }
                return (Account(entry), 0)
            }
            if let account { return account }
            // ERANGE: the entry needs more room.
            guard code == ERANGE || code == EINTR else { break }
            if code == ERANGE { size *= 2 }
        }
        return Account(name: "\(user)", home: "/", shell: "/bin/sh")
    }

    private init(name: String, home: String, shell: String) {
        self.name = name
        self.home = home
        self.shell = shell
    }

    /// The strings of an entry are good only as long as its buffer.
    private init(_ entry: passwd) {
        let home = String(cString: entry.pw_dir)
        let shell = String(cString: entry.pw_shell)
        self.init(
            name: String(cString: entry.pw_name), home: home.isEmpty ? "/" : home,
            shell: shell.isEmpty ? "/bin/sh" : shell)
    }
}
