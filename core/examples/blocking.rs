//! A client with a transport of its own: blocking sockets, a thread for each dial and each caller.
//!
//! `cargo run -p mac-core --example blocking`
//!
//! Two origins on loopback are asked by eight callers through one [`ClientState`]. The driver is all
//! there is to write: one lock around the state, a map from connection to socket, and what each action
//! means.
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "here is the world")]
#![expect(clippy::print_stdout, reason = "an example talks")]

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use http::Request;
use http::request::Parts;
use mac_core::{
    Action, Checkout, CheckoutError, ClientState, ConnId, DialError, Lease, OriginConfig,
    PoolConfig, Protocol, Reuse, UrlKeyConfig, WaiterId,
};

type AnyError = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), AnyError> {
    let urls = [serve("first")?, serve("second")?];
    let driver = Arc::new(Driver::new());
    let callers: Vec<_> = (0..8)
        .map(|caller| {
            let (driver, urls) = (Arc::clone(&driver), urls.clone());
            thread::spawn(move || -> Result<(), AnyError> {
                for round in 0..25 {
                    let url = urls.get((caller + round) % urls.len()).ok_or("a URL")?;
                    let body = driver.get(&format!("{url}/{caller}/{round}"))?;
                    assert!(body.ends_with(&format!("got /{caller}/{round}")), "{body}");
                }
                Ok(())
            })
        })
        .collect();
    for caller in callers {
        caller.join().map_err(|_| "a caller panicked")??;
    }

    let counts = driver.lock().client.stats().all.counts;
    println!("{} requests over {} connections", counts.grants, counts.dials);
    println!("{} found a connection that had served before", counts.reuses);
    println!("{} had to wait", counts.waits);
    assert_eq!(counts.grants, 200);
    assert!(counts.dials < 20, "connections are used again");
    Ok(())
}

/// The state, and what its ids stand for.
struct World {
    client: ClientState,
    sockets: HashMap<ConnId, TcpStream>,
    /// How the waits of callers ended that have not seen it yet.
    ended: HashMap<WaiterId, Result<Lease, CheckoutError>>,
}

struct Driver {
    world: Mutex<World>,
    changed: Condvar,
}

impl Driver {
    fn new() -> Self {
        let client = ClientState::new(UrlKeyConfig::default(), PoolConfig::default());
        let world = World { client, sockets: HashMap::new(), ended: HashMap::new() };
        Self { world: Mutex::new(world), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        // The state is consistent at every step: a panic elsewhere has not hurt it.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(self: &Arc<Self>, url: &str) -> Result<String, AnyError> {
        let (mut parts, ()) = Request::get(url).body(())?.into_parts();
        let mut world = self.lock();
        let config = OriginConfig { max_connections: 3, ..OriginConfig::default() };
        let route = world.client.route_with(&parts, |_| Arc::new(config), Instant::now())?;
        let checkout = world.client.checkout(route.origin, false, Instant::now())?;
        self.execute(&mut world);
        let lease = match checkout {
            Checkout::Ready(lease) => lease,
            Checkout::Waiting(waiter) => loop {
                if let Some(ended) = world.ended.remove(&waiter) {
                    break ended?;
                }
                world = self.wait(world);
            },
        };
        let socket = world.sockets.get(&lease.conn()).map(TcpStream::try_clone);
        drop(world);

        route.target.apply(&mut parts, lease.protocol())?;
        let result = match socket {
            Some(Ok(socket)) => exchange(&socket, &parts),
            Some(Err(_)) | None => Err("the socket is gone".into()),
        };
        let reuse = if result.is_ok() { Reuse::Keep { hint: None } } else { Reuse::Close };
        let mut world = self.lock();
        world.client.checkin(lease, reuse, Instant::now());
        self.execute(&mut world);
        result
    }

    /// Waits until something changed or is due.
    fn wait<'a>(self: &'a Arc<Self>, world: MutexGuard<'a, World>) -> MutexGuard<'a, World> {
        let now = Instant::now();
        let due = world.client.poll_timeout().unwrap_or(now + Duration::from_secs(60));
        let rest = due.saturating_duration_since(now);
        let waited = self.changed.wait_timeout(world, rest);
        let (mut world, _) = waited.unwrap_or_else(PoisonError::into_inner);
        world.client.handle_timeout(Instant::now());
        self.execute(&mut world);
        world
    }

    /// Does what the state asks for.
    fn execute(self: &Arc<Self>, world: &mut World) {
        while let Some(action) = world.client.poll_action() {
            match action {
                Action::Dial { origin, conn } => {
                    let address =
                        world.client.key(origin).map(|key| (key.host().to_string(), key.port()));
                    let driver = Arc::clone(self);
                    thread::spawn(move || driver.dial(conn, address));
                }
                // The thread that dials answers in any case.
                Action::CancelDial { .. } => {}
                Action::Grant { waiter, lease } => {
                    world.ended.insert(waiter, Ok(lease));
                }
                Action::Fail { waiter, error } => {
                    world.ended.insert(waiter, Err(error));
                }
                Action::Close { conn, .. } => {
                    world.sockets.remove(&conn);
                    world.client.handle_closed(conn, Instant::now());
                }
                Action::Vacate { .. } => {}
            }
        }
        self.changed.notify_all();
    }

    fn dial(self: &Arc<Self>, conn: ConnId, address: Option<(String, u16)>) {
        let dialed = address
            .ok_or_else(|| AnyError::from("the origin is forgotten"))
            .and_then(|address| Ok(TcpStream::connect(address)?));
        let mut world = self.lock();
        match dialed {
            Ok(socket) => {
                world.sockets.insert(conn, socket);
                world.client.handle_dialed(conn, Protocol::Http1, None, Instant::now());
            }
            Err(error) => {
                world.client.handle_dial_failed(conn, DialError::new(error), Instant::now());
            }
        }
        self.execute(&mut world);
    }
}

/// One exchange, with a body whose length is told.
fn exchange(mut socket: &TcpStream, request: &Parts) -> Result<String, AnyError> {
    let host = request.headers.get("host").ok_or("a Host")?.to_str()?;
    write!(socket, "{} {} HTTP/1.1\r\nHost: {host}\r\n\r\n", request.method, request.uri)?;
    let mut reader = BufReader::new(socket);
    let head = read_head(&mut reader)?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .ok_or("a length")?
        .parse()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8(body)?)
}

fn read_head(reader: &mut impl BufRead) -> Result<String, AnyError> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err("the connection ended".into());
        }
    }
    Ok(head)
}

/// An origin on loopback that tells what was asked of it. Returns its URL.
fn serve(name: &'static str) -> Result<String, AnyError> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            thread::spawn(move || answer(name, &socket));
        }
    });
    Ok(url)
}

fn answer(name: &str, mut socket: &TcpStream) -> Result<(), AnyError> {
    let mut reader = BufReader::new(socket);
    loop {
        let head = read_head(&mut reader)?;
        let target = head.split(' ').nth(1).ok_or("a target")?;
        let body = format!("{name} got {target}");
        write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
    }
}
