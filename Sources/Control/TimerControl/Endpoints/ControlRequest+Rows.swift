// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension ControlRequest {
    typealias KnownError = EndpointFacts.KnownError

    /// A row of the table for GET.
    ///
    /// - Parameters:
    ///   - id: the name in the OpenAPI document.
    ///   - sentence: what it does.
    ///   - access: who may use it.
    ///   - place: what the word in braces in the path stands for.
    ///   - errors: what may be wrong beside what may be wrong everywhere.
    ///   - isLong: whether it may concern all jobs and be slow.
    static func get<Place, Query>(
        _ id: String, _ path: String, _ sentence: String, for access: Access,
        of place: PathForm<Place> = PathForm<NoPlace>.none, query: Query.Type = NoQuery.self,
        answer: AnswerForm, errors: [KnownError] = [], isLong: Bool = false
    ) -> Endpoint<Place, Query, NoBody> {
        let facts = EndpointFacts(
            id: id, method: .get, path: path, sentence: sentence, access: access, isLong: isLong,
            answer: answer, errors: errors, place: place.facts.name.isEmpty ? nil : place.facts,
            parameters: Query.parameters.map(\.facts), body: nil)
        return Endpoint(facts, place: place, body: .none)
    }

    /// A row of the table for POST, with the same parameters and a body.
    static func post<Place, Query, Body>(
        _ id: String, _ path: String, _ sentence: String, for access: Access,
        of place: PathForm<Place> = PathForm<NoPlace>.none, query: Query.Type = NoQuery.self,
        body: BodyForm<Body> = BodyForm<NoBody>.none, answer: AnswerForm,
        errors: [KnownError] = [], isLong: Bool = false
    ) -> Endpoint<Place, Query, Body> {
        let facts = EndpointFacts(
            id: id, method: .post, path: path, sentence: sentence, access: access, isLong: isLong,
            answer: answer, errors: errors, place: place.facts.name.isEmpty ? nil : place.facts,
            parameters: Query.parameters.map(\.facts), body: body.facts)
        return Endpoint(facts, place: place, body: body)
    }
}
