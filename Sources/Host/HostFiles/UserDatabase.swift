// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The users and groups of the machine (getpwnam_r(3), getgrnam_r(3)).
///
/// A look-up may ask a directory service over the network (nsswitch.conf(5)), so it may take any
/// time. Some services accept numbers or short names as well. An entry that has another name than
/// the one that was asked for counts as missing, so that a typing error is never another user.
public enum UserDatabase {
    /// The answer to a look-up.
    public enum Answer<Entry> {
        /// The entry that was asked for.
        case found(Entry)
        /// There is no such entry.
        case missing
        /// The database could not answer, with the errno.
        case failed(Int32)

        /// The entry; nil if it was not found.
        public var entry: Entry? { if case .found(let entry) = self { entry } else { nil } }

        /// The same answer about another value: only an entry is transformed.
        public func map<Other>(_ transform: (Entry) -> Other) -> Answer<Other> {
            switch self {
            case .found(let entry): .found(transform(entry))
            case .missing: .missing
            case .failed(let code): .failed(code)
            }
        }
    }

    /// An entry of passwd(5).
    public struct User: Hashable, Sendable {
        /// The login name.
        public var name: String
        /// The numeric user ID.
        public var uid: UInt32
        /// The numeric ID of the primary group.
        public var gid: UInt32
        /// The home directory; may be empty.
        public var home: String
        /// The login shell; may be empty.
        public var shell: String
    }

    /// An entry of group(5), without its members.
    public struct Group: Hashable, Sendable {
        public var name: String
        /// The numeric group ID.
        public var gid: UInt32
    }

    /// The most bytes that an entry may have. The entry of a group contains the names of its
    /// members.
    static let entryBytesMax = 1 << 20

    /// Looks up a user by the exact name.
    public static func user(named name: String) -> Answer<User> {
        find(passwd()) {
            getpwnam_r(name, $0, $1, $2, $3)
        } copy: {
            User($0)
        }
        .named(name, \.name)
    }

    /// Looks up a user by the numeric ID.
    public static func user(_ uid: UInt32) -> Answer<User> {
        find(passwd()) {
            getpwuid_r(uid, $0, $1, $2, $3)
        } copy: {
            User($0)
        }
    }

    /// Looks up a group by the exact name.
    public static func group(named name: String) -> Answer<Group> {
        find(Glibc.group()) {
            getgrnam_r(name, $0, $1, $2, $3)
        } copy: {
            Group($0)
        }
        .named(name, \.name)
    }

    /// The numbers of the groups of a user, as initgroups(3) sets them.
    ///
    /// - Parameters:
    ///   - primary: the number of the primary group, which is one of them.
    ///   - most: how many there may be.
    /// - Returns: nil if there are more.
    public static func groups(
        ofUser name: String, primary: UInt32, upTo most: Int
    ) -> [UInt32]? {
        var count = Int32(most)
        var groups = [gid_t](repeating: 0, count: most)
        guard getgrouplist(name, primary, &groups, &count) >= 0 else { return nil }
        return Array(groups.prefix(Int(count)))
    }

    /// Looks an entry up with a buffer that grows while the entry does not fit into it.
    ///
    /// - Parameters:
    ///   - space: where the entry is written.
    ///   - lookUp: the call; it gets the space, the buffer for strings and its size, and returns an
    ///     errno.
    ///   - copy: copies the entry, whose strings are valid only while it runs.
    static func find<Raw, Entry>(
        _ space: Raw,
        _ lookUp: (
            UnsafeMutablePointer<Raw>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Raw>?>
        ) -> Int32,
        copy: (Raw) -> Entry
    ) -> Answer<Entry> {
        var space = space
        var size = 1024
        while true {
            var found: UnsafeMutablePointer<Raw>?
            let answer = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) {
                buffer -> Answer<Entry> in
                // A buffer of at least one byte has an address.
                let code = lookUp(&space, buffer.baseAddress!, buffer.count, &found)
                guard code == 0 else { return .failed(code) }
                return found == nil ? .missing : .found(copy(space))
            }
            switch answer {
            case .failed(EINTR): continue
            // The buffer is too small for the entry.
            case .failed(ERANGE) where size < entryBytesMax: size *= 2
            case .found, .missing, .failed: return answer
            }
        }
    }
}

extension UserDatabase.Answer: Equatable where Entry: Equatable {}
extension UserDatabase.Answer: Sendable where Entry: Sendable {}

extension UserDatabase.Answer {
    /// The same, but an entry with another name is missing.
    func named(_ name: String, _ path: (Entry) -> String) -> Self {
        guard let entry else { return self }
        // Compared by bytes, because Swift takes different spellings of a character for equal.
        return path(entry).utf8.elementsEqual(name.utf8) ? self : .missing
    }
}

extension UserDatabase.User {
    fileprivate init(_ entry: passwd) {
        self.init(
            name: text(entry.pw_name), uid: entry.pw_uid, gid: entry.pw_gid,
            home: text(entry.pw_dir), shell: text(entry.pw_shell))
    }
}

extension UserDatabase.Group {
    fileprivate init(_ entry: group) { self.init(name: text(entry.gr_name), gid: entry.gr_gid) }
}

/// A string of an entry. A database may leave one out.
private func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
}
