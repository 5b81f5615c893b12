//! What a scripted model can do: say something, or use a tool as this generation of the client has it.

use serde_json::{Value, json};

use super::version::Generation;

/// One thing that a model answers.
#[derive(Clone, Debug)]
pub enum Move {
    /// A text.
    Say(String),
    /// A use of a tool.
    Use {
        /// The tool's name.
        tool: &'static str,
        /// What it is given.
        input: Value,
    },
    /// No answer until the client closes the connection.
    Hang,
    /// No answer but an error of the API.
    Fail { status: u16, kind: &'static str, message: &'static str },
    /// Beside other moves: by the tokens of this answer, the context is full, and the client compacts the conversation.
    Fill,
    /// Beside other moves: this answer has this number of web searches, which cost a cent each.
    Search(u64),
    /// Beside other moves: this answer comes after this number of seconds.
    Wait(u64),
}

impl Move {
    /// Whether it is not in the text of an answer.
    pub fn is_beside(&self) -> bool {
        matches!(self, Self::Fill | Self::Search(_) | Self::Wait(_))
    }
}

/// Says something.
pub fn say(text: &str) -> Move {
    Move::Say(text.to_owned())
}

/// Makes a task that nobody owns.
pub fn make_task(subject: &str) -> Move {
    let description = format!("{subject}, with tests");
    let input =
        json!({"subject": subject, "description": description, "activeForm": format!("Working: {subject}")});
    Move::Use { tool: "TaskCreate", input }
}

/// Changes a task.
pub fn change_task(id: &str, change: Value) -> Move {
    let mut input = json!({"taskId": id});
    if let (Some(input), Value::Object(change)) = (input.as_object_mut(), change) {
        input.extend(change);
    }
    Move::Use { tool: "TaskUpdate", input }
}

/// Looks at the tasks.
pub fn list_tasks() -> Move {
    Move::Use { tool: "TaskList", input: json!({}) }
}

impl Move {
    /// Uses the tool with this input, too.
    pub fn with(mut self, key: &str, value: &str) -> Move {
        if let Move::Use { input, .. } = &mut self {
            input[key] = json!(value);
        }
        self
    }

    /// Gives the agent that this starts a worktree of its own.
    pub fn in_worktree(mut self) -> Move {
        if let Move::Use { input, .. } = &mut self {
            input["isolation"] = json!("worktree");
        }
        self
    }
}

impl Generation {
    /// Sends a message.
    pub fn tell(self, to: &str, summary: &str, text: &str) -> Move {
        self.send(match self {
            Self::Flat => json!({"type": "message", "recipient": to, "summary": summary, "content": text}),
            _ => json!({"to": to, "summary": summary, "message": text}),
        })
    }

    /// Asks a teammate to stop.
    pub fn ask_to_stop(self, to: &str, why: &str) -> Move {
        self.send(match self {
            Self::Flat => json!({"type": "shutdown_request", "recipient": to, "content": why}),
            _ => json!({"to": to, "message": {"type": "shutdown_request", "reason": why}}),
        })
    }

    /// Agrees to stop. A reason beside it would make 2.1.328 refuse the answer.
    pub fn agree(self, request: &str) -> Move {
        let answer = json!({"type": "shutdown_response", "request_id": request, "approve": true});
        self.send(match self {
            Self::Flat => answer,
            _ => json!({"to": "team-lead", "message": answer}),
        })
    }

    /// Refuses to stop.
    pub fn refuse(self, request: &str, why: &str) -> Move {
        let mut answer = json!({"type": "shutdown_response", "request_id": request, "approve": false});
        self.send(match self {
            Self::Flat => {
                answer["content"] = json!(why);
                answer
            }
            _ => {
                answer["reason"] = json!(why);
                json!({"to": "team-lead", "message": answer})
            }
        })
    }

    fn send(self, input: Value) -> Move {
        Move::Use { tool: "SendMessage", input }
    }

    /// Starts a teammate; its prompt names the part that it plays.
    pub fn spawn(self, name: &str, job: &str) -> Move {
        let prompt =
            format!("part={name} You are {name} of this team. {job}, and tell team-lead when it is done.");
        let mut input = json!({
            "name": name, "description": job, "prompt": prompt,
            "subagent_type": "general-purpose", "run_in_background": true,
        });
        if self != Self::Session {
            input["team_name"] = json!(TEAM);
        }
        Move::Use { tool: self.agent_tool(), input }
    }

    /// Starts an agent that is no teammate, and waits for it.
    pub fn delegate(self, part: &str, job: &str) -> Move {
        let input = json!({"description": job, "prompt": format!("part={part} {job}."), "subagent_type": "general-purpose"});
        Move::Use { tool: self.agent_tool(), input }
    }

    fn agent_tool(self) -> &'static str {
        if self == Self::Flat { "Task" } else { "Agent" }
    }

    /// Makes the team, where a tool does.
    pub fn make_team(self) -> Option<Move> {
        let input = json!({"team_name": TEAM, "description": "Write, review and fuzz a parser"});
        (self != Self::Session).then_some(Move::Use { tool: "TeamCreate", input })
    }

    /// Deletes the team, where a tool does.
    pub fn delete_team(self) -> Option<Move> {
        (self != Self::Session).then_some(Move::Use { tool: "TeamDelete", input: json!({}) })
    }
}

/// The team's name, where it can be chosen.
const TEAM: &str = "parser-team";
