// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Values about the restrictions on the processes of a job.
extension TomlNode {
    /// The most bytes of the name of a profile or context. The kernel accepts a page, and real ones
    /// are much shorter.
    static let labelBytesMax = 1024

    /// Names of capabilities, as a set.
    func capabilities() throws(Fault) -> CapabilitySet {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark, "must be an array such as [\"CAP_NET_BIND_SERVICE\"], not \(value.kind)")
        }
        var set = CapabilitySet()
        _ = try nodes.readEach { (node) throws(Fault) in
            let name = try node.string()
            guard set.insert(name) else {
                let hint = Self.nearestCapability(name).map { " (did you mean \"\($0)\"?)" } ?? ""
                throw Fault(
                    node.mark, "unknown capability \"\(name)\"\(hint); capabilities(7) lists them")
            }
        }
        return set
    }

    /// Other programs write them in lower case, or without the prefix.
    private static func nearestCapability(_ name: String) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let capitals = name.uppercased()
        let whole = capitals.hasPrefix("CAP_") ? capitals : "CAP_\(capitals)"
        if CapabilitySet.names.contains(whole) { return whole }
        return nearestName(whole, among: CapabilitySet.names)
    }

    /// The most credentials of one job.
    static let credentialsMax = 100

    /// The paths of credentials, by their names, which become file names.
    func credentials() throws(Fault) -> [String: String] {
        guard case .table(let entries) = value else {
            throw Fault(
                mark, "must be a table such as { TOKEN = \"/etc/token\" }, not \(value.kind)")
        }
        guard entries.count <= Self.credentialsMax else {
            throw Fault(
                mark, "has \(entries.count) credentials; at most \(Self.credentialsMax)")
        }
        let paths = try entries.readEach { (entry) throws(Fault) in
            if let fault = Self.fault(inCredential: entry.key) { throw Fault(entry.mark, fault) }
            let path = try entry.node.string()
            guard path.utf8.first == UInt8(ascii: "/") else {
                throw Fault(
                    entry.node.mark,
                    "must be the absolute path of a file with the secret, beginning with /")
            }
            return (entry.key, path)
        }
        return Dictionary(paths, uniquingKeysWith: { $1 })
    }

    /// What is wrong with the name of a credential; nil if it is valid.
    static func fault(inCredential name: String) -> String? {
        let isWord = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || "._-@".utf8.contains(byte)
        }
        guard isWord, (1...255).contains(name.utf8.count), name != ".", name != ".." else {
            // The secret itself may have been written here.
            return
                "this is not a valid credential name: letters, digits, '.', '_', '-' and '@', 255 at most"
        }
        return nil
    }

    /// The name of an AppArmor profile, optionally with a `-` before it.
    func appArmorProfile() throws(Fault) -> String {
        let text = try label()
        guard !Self.withoutMark(text).isEmpty else {
            throw Fault(mark, "the name of the profile is missing")
        }
        return text
    }

    /// An SELinux context, optionally with a `-` before it: a user, a role, a type and, with some
    /// policies, a level.
    func seLinuxContext() throws(Fault) -> String {
        let text = try label()
        let parts = Self.withoutMark(text).split(
            separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts.allSatisfy({ !$0.isEmpty }),
            !text.utf8.contains(UInt8(ascii: " "))
        else {
            throw Fault(
                mark,
                "\"\(text)\" is not a context such as \"system_u:system_r:backup_t:s0\": USER:ROLE:TYPE or "
                    + "USER:ROLE:TYPE:LEVEL")
        }
        return text
    }

    private static func withoutMark(_ text: String) -> Substring.UTF8View {
        text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    }

    private func label() throws(Fault) -> String {
        let text = try string()
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw Fault(mark, "holds a control character")
        }
        guard text.utf8.count <= Self.labelBytesMax else {
            throw Fault(mark, "is too long; at most \(Self.labelBytesMax) bytes")
        }
        return text
    }
}
