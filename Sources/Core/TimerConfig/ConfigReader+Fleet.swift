// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ConfigReader {
    /// Reads only the table `[fleet]`, for the process that is connected to etcd, so that its memory
    /// does not depend on the number of jobs. The table can be in any file of the configuration, but
    /// only once. A file in `jobs.d` that cannot be read, and an unknown key, are passed over, because
    /// the scheduler reports them.
    ///
    /// - Parameters:
    ///   - path: the main file.
    ///   - ownerUID: the user whose files are trusted, beside root's.
    /// - Returns: nil if there is no such table.
    /// - Throws: `ConfigError` if the main file cannot be read, or for the first mistake in the table.
    /// - Complexity: O(*n*) in the bytes of all files.
    public static func fleetSettings(
        path: String, ownerUID: UInt32
    ) throws(ConfigError) -> FleetSettings? {
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

    private static func fleet(in document: Document) throws(ConfigError) -> FleetSettings? {
        guard let entry = document.entries.first(where: { $0.key == "fleet" }) else { return nil }
        var reader = FileReader(document: document)
        var fleet = FleetSettings()
        for key in reader.table(entry) {
            guard let known = FleetSettings.keys.first(where: { $0.name == key.key }) else {
                continue
            }
            reader.attempt("[fleet]: \(key.key)") { () throws(Fault) in
                try known.read(key.node, &fleet)
            }
        }
        if reader.count == 0, let fault = fleet.fault {
            reader.report(Fault(entry.mark, fault), "[fleet]")
        }
        if let error = reader.errors.first { throw error }
        return fleet
    }
}
