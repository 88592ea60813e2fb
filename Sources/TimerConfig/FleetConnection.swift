// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What the table `[fleet]` says about etcd, for the process that is connected to it. It reads nothing
/// else of the configuration, so that its memory does not depend on the number of jobs.
public struct FleetConnection: Hashable, Sendable {
    /// The name of the fleet, of the form of a job name.
    public var name = ""
    /// The addresses of the members of etcd; at least one. Their form is not checked here.
    public var etcd: [String] = []
    /// The absolute path of the file with the certificates that sign those of etcd.
    public var ca: String?
    /// The absolute path of the file with the certificate of this machine.
    public var certificate: String?
    /// The absolute path of the file with its private key.
    public var key: String?
    /// The user in etcd.
    public var user: String?
    /// The absolute path of the file with the password of the user.
    public var passwordFile: String?
    /// The TTL of the lease of this machine, at least one second.
    public var lease = Duration.seconds(10)

    fileprivate init() {}

    /// Takes the value of a key. Keys about other things are left to the scheduler, which checks all
    /// of them.
    fileprivate mutating func take(_ key: String, _ node: TomlNode) throws(Fault) {
        switch key {
        case "name":
            let text = try node.string()
            guard Job.Name(text) != nil else {
                throw Fault(node.mark, "\"\(text)\" is not a name; it has the form of a job name")
            }
            name = text
        case "etcd":
            guard case .array(let nodes) = node.value, !nodes.isEmpty else {
                throw Fault(node.mark, "must be an array such as [\"https://10.0.0.1:2379\"]")
            }
            etcd = []
            for element in nodes { etcd.append(try element.string()) }
        case "ca": ca = try node.absolutePath()
        case "certificate": certificate = try node.absolutePath()
        case "key": self.key = try node.absolutePath()
        case "user": user = try node.string()
        case "password-file": passwordFile = try node.absolutePath()
        case "lease":
            lease = try node.span()
            guard lease >= .seconds(1) else { throw Fault(node.mark, "is shorter than 1s") }
        default: return
        }
    }
}

extension TomlNode {
    fileprivate func absolutePath() throws(Fault) -> String {
        let text = try string()
        guard text.hasPrefix("/") else {
            throw Fault(mark, "\"\(text)\" must be an absolute path")
        }
        return text
    }
}

extension ConfigReader {
    /// Reads the table `[fleet]`. It can be in any file of the configuration, but only once. A file in
    /// `jobs.d` that cannot be read is passed over, because the scheduler reports it.
    ///
    /// - Parameters:
    ///   - path: the main file.
    ///   - ownerUID: the user whose files are trusted, beside root's.
    /// - Returns: nil if there is no such table.
    /// - Throws: `ConfigError` if the main file cannot be read, or for the first mistake in the table.
    /// - Complexity: O(*n*) in the bytes of all files.
    public static func fleetConnection(
        path: String, ownerUID: UInt32
    ) throws(ConfigError) -> FleetConnection? {
        let files = ConfigFiles(main: path, ownerUID: ownerUID)
        var found = try fleet(in: try Document(bytes: try files.readMain(), file: path))
        for other in files.others().0 {
            guard let bytes = try? files.read(other),
                let document = try? Document(bytes: bytes, file: other.path),
                let table = try fleet(in: document)
            else { continue }
            guard found == nil else {
                throw ConfigError(
                    file: other.path,
                    message: "[fleet] is in another file already; a machine belongs to one fleet")
            }
            found = table
        }
        return found
    }

    private static func fleet(in document: Document) throws(ConfigError) -> FleetConnection? {
        guard let entry = document.entries.first(where: { $0.key == "fleet" }) else { return nil }
        var reader = FileReader(document: document)
        var connection = FleetConnection()
        for (key, node) in reader.table(entry) {
            reader.attempt("[fleet]: \(key.key)") { () throws(Fault) in
                try connection.take(key.key, node)
            }
        }
        if let error = reader.errors.first { throw error }
        if connection.name.isEmpty || connection.etcd.isEmpty {
            let missing = connection.name.isEmpty ? "name" : "etcd"
            reader.report(Fault(entry.mark, "\(missing) is missing"), "[fleet]")
        }
        if let error = reader.errors.first { throw error }
        return connection
    }
}
