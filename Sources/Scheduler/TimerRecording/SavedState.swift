// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
package import HostFiles
package import TimerCore
package import TimerStore

/// The evidence that saved state existed here: the marker beside the database, which survives a
/// reboot, and the heartbeat, which is newer. If the database is gone, empty, another one or an
/// older one, this is not treated as a first start: all pauses and all counted time would be lost
/// silently.
package struct SavedState {
    package let state: Directory
    let marker: StateMarker.Found
    package let heartbeat: Heartbeat?
    let bootID: BootID

    /// Why the state that is there is not the last one.
    package struct Lost: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads the marker. `check` compares it with what the database says.
    package init(
        in state: Directory, heartbeat: Heartbeat?, bootID: BootID
    ) throws(Directory.Failure) {
        self.state = state
        self.heartbeat = heartbeat
        self.bootID = bootID
        marker = try StateMarker.find(in: state)
    }

    /// Whether a database existed here. A heartbeat without a generation belongs to a daemon that
    /// had not written anything: its first start was killed, or the disk was full.
    package var wasThere: Bool { marker != .none || (heartbeat?.generation ?? 0) > 0 }

    /// Checks that the database exists, before it is opened, because that would create one.
    package func checkFiles() throws {
        guard wasThere else { return }
        guard let status = try state.status(of: Store.fileName) else {
            throw lost("there is no database")
        }
        guard status.st_size > 0 else { throw lost("the database is empty") }
    }

    /// Checks that the database is the last one and not an older copy.
    package func check(_ identity: Store.Identity) throws(Lost) {
        if case .marker(let marker) = marker {
            guard marker.identity.id == identity.id else {
                throw lost(
                    "this is another database (its id is \(identity.id), not \(marker.identity.id))"
                )
            }
            guard marker.identity.generation <= identity.generation else {
                throw older(identity, marker.identity.generation)
            }
        }
        // What a heartbeat of this boot reports as written must still be there. After a power cut
        // the last second may be missing.
        if let heartbeat, heartbeat.at.bootID == bootID,
            heartbeat.generation > identity.generation
        {
            throw older(identity, heartbeat.generation)
        }
    }

    /// The same, for an error while opening the database.
    package func lost(_ error: StoreError) -> Lost { lost("\(error.what)") }

    private func older(_ identity: Store.Identity, _ known: Int64) -> Lost {
        lost(
            """
            the database is older than what was here last (generation \(identity.generation), not \(known)): it is a \
            copy, or its log \(Store.fileName)-wal is gone
            """)
    }

    private func lost(_ what: String) -> Lost {
        Lost(
            description: """
                \(state.path)/\(Store.fileName): \(what), but \(evidence); put it back, or restore the last good copy \
                with `timerd restore`, or go on with what is there by starting once with --accept-data-loss (see \
                RECOVERY in timerd(8))
                """)
    }

    private var evidence: String {
        switch (marker, heartbeat) {
        case (.marker(let marker), _):
            """
            \(state.path)/\(StateMarker.name) says that the state of \(marker.jobs) \
            \(marker.jobs == 1 ? "job" : "jobs") was saved here at \(marker.at.rfc3339)
            """
        case (_, let heartbeat?):
            "a timerd with saved state was running at \(heartbeat.at.wall.rfc3339)"
        case (.unreadable, nil), (.none, nil): "there is \(state.path)/\(StateMarker.name)"
        }
    }

    /// Forgets the lost state. The last good copy gets another name, so that later copies do not
    /// replace it.
    package func accept(at now: WallInstant) throws(Directory.Failure) {
        if try state.status(of: StoreCopy.fileName) != nil {
            try state.rename(
                StoreCopy.fileName, to: "\(StoreCopy.fileName).before-\(now.basicISO8601)")
        }
        try state.remove(StateMarker.name)
        try state.sync()
    }

    /// Renames the files of the database. The write-ahead log is moved with its database, because
    /// SQLite would apply it to another one beside it.
    /// - Returns: the new path of the database; nil if there was none.
    package static func moveAside(
        in directory: Directory, at now: WallInstant
    ) throws(Directory.Failure) -> String? {
        let aside = "\(Store.fileName).replaced-\(now.basicISO8601)"
        var kept: String?
        for name in Store.fileNames {
            guard try directory.status(of: name) != nil else { continue }
            let new = aside + name.dropFirst(Store.fileName.count)
            try directory.rename(name, to: new)
            if name == Store.fileName { kept = "\(directory.path)/\(new)" }
        }
        try directory.sync()
        return kept
    }
}
