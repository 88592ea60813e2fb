// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
public import TimerZones

/// What a file gets from the other files of its configuration: their settings, the defaults of the
/// main file, and the tables that jobs refer to. With it a file can be checked before it is among them.
public struct ConfigSurroundings: Sendable {
    /// The path of the main file.
    public let main: String
    let settings: DaemonSettings
    let defaults: MainDefaults?
    let hasFleet: Bool
    let notifiers: [Notifier]
    /// The names of all notifiers, including those with an error.
    let notifierNames: Set<String>
    let slots: [RunSlot]
    /// The names of all slots, including those with an error.
    let slotNames: Set<String>
    let dateLists: [DateList.Name: DateList]
    /// The names of all lists of dates, including those with an error.
    let dateNames: Set<String>

    /// The names of all jobs, including those with an error, and what each follows.
    let jobNames: Set<String>
    let followed: [Job.Name: [Job.Name]]

    init(_ decoder: Decoder, main: String) {
        self.main = main
        settings = decoder.settings
        defaults = decoder.mainDefaults
        hasFleet = decoder.hasFleet
        notifiers = decoder.notifiers
        notifierNames = Set(decoder.notifierPlaces.keys)
        slots = decoder.slots
        slotNames = Set(decoder.slotPlaces.keys)
        dateLists = decoder.dateLists
        dateNames = Set(decoder.datesPlaces.keys)
        jobNames = Set(decoder.places.keys)
        var followed: [Job.Name: [Job.Name]] = [:]
        for job in decoder.jobs {
            if let follows = job.follows { followed[job.name] = follows.causes.map(\.job) }
        }
        self.followed = followed
    }
}

extension ConfigReader {
    /// Reads the files of a configuration for the tables that another file refers to. What is wrong
    /// with their jobs does not matter.
    ///
    /// - Throws: `ConfigError` if the main file cannot be read or is no TOML.
    public static func surroundings(
        path: String, ownerUID: UInt32, zones: ZoneFiles = ZoneFiles()
    ) throws(ConfigError) -> ConfigSurroundings {
        var decoder = Decoder(zones: zones, seed: 0, checks: nil)
        try read(
            ConfigFiles(main: path, ownerUID: ownerUID), replacing: nil, known: [:], into: &decoder)
        return ConfigSurroundings(decoder, main: path)
    }

    /// Reads a file as if it were one of the files of another configuration; without one, it and the
    /// directory `jobs.d` beside it, as `load` does.
    ///
    /// - Throws: as `load`.
    public static func load(
        path: String, beside surroundings: ConfigSurroundings?, ownerUID: UInt32,
        zones: ZoneFiles = ZoneFiles(), seed: UInt64 = 0, checks: ConfigChecks? = nil
    ) throws(ConfigError) -> ConfigReading {
        var decoder = Decoder(
            zones: zones, seed: seed, checks: checks, surroundings: surroundings)
        let files = ConfigFiles(main: path, ownerUID: ownerUID)
        if surroundings != nil {
            decoder.files = files
            decoder.decode(try Document(bytes: try files.readMain(), file: path))
        } else {
            try read(files, replacing: nil, known: [:], into: &decoder)
        }
        return decoder.reading()
    }
}
