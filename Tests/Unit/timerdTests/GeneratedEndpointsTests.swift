// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing
import TimerControl

/// What `make generated` writes of the table of endpoints is in the repository.
@Suite struct GeneratedEndpointsTests {
    @Test func theOpenAPIDocumentIsThatOfTheTable() throws {
        var document = try OpenAPIDocument(types: OpenAPITests.types)
        let difference = try Project.difference(
            of: OpenAPIDocument.file, from: document.text())
        #expect(difference == nil)
    }

    @Test func theListInTheManualIsThatOfTheTable() throws {
        let page = "man/timerd-api.7"
        let (start, end) = (".\\\" Written by `make generated`:\n", ".\\\" The end of that.\n")
        let parts = try Project.text(of: page).components(separatedBy: start)
        try #require(parts.count == 2)
        let rest = parts[1].components(separatedBy: end)
        try #require(rest.count == 2)
        let items = EndpointTable.all.map { Self.item($0.facts) }.joined()
        let difference = try Project.difference(
            of: page, from: parts[0] + start + items + end + rest[1])
        #expect(difference == nil)
    }

    /// Such as `.It Li GET /v1/jobs/ Ns Ar JOB Ns Li /why`, with the sentence below it.
    private static func item(_ facts: EndpointFacts) -> String {
        var path = facts.path
        if let place = facts.place {
            path = path.replacing(
                "{\(place.name)}", with: " Ns Ar \(place.name.uppercased()) Ns Li ")
            if path.hasSuffix(" Ns Li ") { path.removeLast(" Ns Li ".count) }
        }
        let who =
            switch facts.access {
            case .readers: ""
            case .readersAtSocket: "Not over the web server.\n"
            case .operators: "For operators.\n"
            case .operatorsAtSocket: "For operators, and not over the web server.\n"
            case .ownersAtSocket:
                "For operators, if it is about others, and not over the web server.\n"
            case .sessions: "Over the web server for each session.\n"
            case .beforeLogin: "Over the web server also before a login.\n"
            }
        // Each sentence has a line of its own (mdoc(7)).
        let sentences = facts.sentence.replacing("`", with: "").replacing(". ", with: ".\n")
        return ".It Li \(facts.method.rawValue) \(path)\n\(sentences)\n\(who)"
            .replacing("-", with: "\\-")
    }
}
