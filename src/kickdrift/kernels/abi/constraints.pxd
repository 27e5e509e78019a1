# Arguments of the constraint kernels. Arrays of numbers have the state's dtype.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from .events cimport EventSource

cdef enum:
    PAIRS_PER_BODY = 16  # capacity of the pair list per body; if exceeded, each body keeps its partners of lowest index
    MOST_ROWS = 9           # maximum number of rows of cells in the neighbourhood of a grid cell
    MOST_CLASSES = 15       # maximum number of size classes
    NOWHERE = 255           # size class of inactive bodies
    CONTACT = 18            # numbers stored per contact, beside its normal and its friction impulse
    TRAITS = 8              # numbers per body in `traits` of Contacts
    DELTA_V = 4                # index in `traits` of the body's velocity change by forces (delta_v)
    ROD = 6                 # numbers per rod of Contacts beside its direction
    CONTACT_EVENT = 4             # numbers per contact in `contact_event`, beside its point and normal
    SPIN = 8                # numbers per rotating body in `spin` of Contacts
    TWIST = 13              # further numbers per contact if bodies rotate, in `twist` of Contacts
    SHAPES_PER_BODY = 8     # maximum number of shapes per body that Contacts considers in a step: the nearest ones
    COLOURS = 64    # graph colours of contacts: a 64-bit mask per body marks used ones. Uncoloured contacts come last
    PAIR_ROW = 4            # numbers per body in `row` of Distance: one vector, padded
    DIRECTION = 3           # bits of `how` in Distance that contain its line of action (0, 1 or 2)
    SOFT = 4                # bit of `how`: the pair has compliance
    LIMITED = 8             # bit of `how`: the pair has limits or may break

cdef enum ConstraintKind:
    BOX
    PLANE
    CORNERS
    SENSOR
    SHAPES
    PERIODIC
    MOVING          # shapes that move
    FLOOR
    PIN             # kinds before PIN act on each body alone; new kinds may go to the end
    DISTANCE
    COLLISIONS
    CONTACTS


cdef inline bint acts_alone(ConstraintKind kind) noexcept nogil:
    return kind < PIN


# Ctrl-C check of long loops within a step: True means stop, and the step returns INTERRUPTED.
ctypedef bint (*Look)(void* owner) noexcept nogil

# Periodic box: bounds, width and 1/width per axis, all 0 along open axes. `width` is NULL in open space.
ctypedef struct Torus:
    const void* lower
    const void* upper
    const void* width
    const void* per_width

ctypedef struct Periodic:
    Torus torus
    const void* weight          # activity of each body: 1 active, 0 inactive

ctypedef struct Pin:
    int64_t count
    const int64_t* index

# Storage of a pair's load, in an array that kickdrift/stepper/loads.py allocates.
ctypedef struct LoadCell:
    const double* owner         # points to the number of the pair's constraint, for events
    double* cell                # two numbers: load in N; 1 if the pair is broken, else 0
    double limit                # load in N that breaks the pair; < 0: no limit
    double unit                 # rigid pairs: load in N per 1 m/s² of length correction / h²; compliant pairs: 1
    int32_t first, second       # bodies
    int64_t rank                # index in declaration order; the breaks of a step are recorded in this order

# Pairs by level: levels run in order; pairs of one level share no body and have the same `how`.
# Bodies are copied to rows of PAIR_ROW numbers and back in each step.
ctypedef struct Distance:
    Torus torus
    int64_t stages
    const int64_t* stage        # index of the first pair of each level, then the number of pairs
    # Per level, the line on which impulses act: 0: between the positions after the step; 1: between those before it;
    # 2: as 1, and a second solve removes velocities along the pairs. SOFT and LIMITED: bits for compliance and limits.
    const uint8_t* how
    int64_t members             # number of bodies that belong to pairs; each has a row
    const int32_t* member       # body index of each row
    const int32_t* place        # offset of each body's row in `row`
    const int32_t* first        # row offset of each pair's first body
    const int32_t* second
    const void* length
    const void* move_first
    const void* move_second
    int64_t direction           # largest line of action (0, 1 or 2) of all levels
    const void* compliance      # compliance of each pair, < 0 for rigid ones; NULL: all are rigid
    const void* drag_first
    const void* drag_second
    double response[4]
    const void* lower           # limits; NULL if no pair has any
    const void* upper
    const LoadCell* cell
    bint saves_loads            # True if snapshots contain the load of any pair, that is, if any pair has breaks_at
    bint from_positions         # True for Verlet: the next step reads no velocities, so velocity impulses are no load
    double last_h               # see `span_of` in loads.pxd
    int64_t iterations
    const void* at_rest         # per body: its stored velocity at rest, as a share of delta_v; NULL: 0
    Look look
    # Workspace.
    void* low                   # limits of length in this step; for a broken pair so wide that they never act
    void* high
    void* least                 # bounds of the accumulated velocity impulse of each pair with limits
    void* most
    void* load                  # load of each pair in this step, N
    void* row                   # PAIR_ROW numbers per member: its position, or its velocity during the velocity solve
    void* displacement          # unit vectors from first to second body, component by component
    void* force                 # accumulated position impulse of each pair
    void* pull  # compliant pairs: accumulated velocity impulse; rigid pairs: > 0 if the velocity solve is skipped
    void* slowed                # accumulated velocity impulse of each rigid pair
    void* share_first  # inverse mass of first bodies, reduced by drag in compliant pairs; NULL: all pairs are rigid
    void* share_second
    void* alpha

# One number per body (stride 1) or one for all bodies (stride 0).
ctypedef struct Each:
    const void* number
    int64_t body

ctypedef struct Floor:
    Each deceleration           # m/s²

# Angular velocities and inertias of bodies, for friction. Arrays are indexed by the body's index in the world, also
# while a tile of bodies steps in a copy.
ctypedef struct Spin:
    void* w                         # rad/s: 1 plane of `stride` numbers in 2-D, 3 in 3-D; NULL: nothing rotates
    int64_t stride
    const void* inverse_inertia     # 1/I of each body; 0 if mass or inertia is infinite

ctypedef struct Wall:
    const void* lower           # lower corner of a box
    const void* upper
    const void* normal          # unit normal of a plane
    const void* offset
    Each restitution, friction, radius
    const void* weight
    double lag
    const uint8_t* sensor       # code per body: 0 collides, 1 sensor (events only), 2 passes through; NULL: all collide
    const uint8_t* only         # mask of the bodies to constrain in this call; NULL: all
    const uint8_t* alive        # per body: 1 if active; NULL: all are active
    EventSource* events                  # event recorder; NULL: no events
    Spin spin
    const void* belt  # conveyor: speed along (-n_y, n_x), then a velocity whose tangential part is added; or NULL

# The motion of shapes. Its numbers are always doubles: positions of shapes would drift in float32.
ctypedef struct Motion:
    const double* state  # of each shape: displacement, angle, velocity, angular velocity; NULL: shapes do not move
    const double* lower         # corners or ends at displacement 0 and angle 0, (shapes, dim)
    const double* upper
    const double* center
    const double* far           # of each shape: the largest distance of its ends from its center
    int64_t count
    double now                  # time to which `lower` and `upper` of `Shapes` are moved, s after the start of the step
    double step                 # duration of the step, s
    double displacement         # largest displacement of a surface in the step, m
    double margin               # upper bound of the distance that a shape moves in the steps ahead, m
    bint begun                  # True: shapes were moved to the start of the step once, for all calls of the step

# Bounding volume tree of shapes. Leaves have a count > 0; inner nodes have two children, at `first` and `first` + 1.
ctypedef struct Shapes:
    Wall wall                   # restitution, friction, filter and events, as for planes and boxes
    bint segments               # True: segments; False: boxes
    void* lower                 # lower corners or first ends, (shapes, dim)
    void* upper
    # (shapes, dim), or NULL. Boxes: the direction of the side that collides. Segments: the left side from a to b if
    # the first component is > 0, the right side if < 0.
    const void* one_way
    Each reach                  # per body: distance at which it touches a shape, the sum of both radii
    int64_t count
    const uint8_t* enabled      # per shape: 1 if enabled; NULL: all are enabled
    const int64_t* number       # shape numbers, sorted by the leaf that contains them
    double* bounds              # bounding box of each node: lower corner, upper corner
    const int64_t* first
    const int64_t* leaves       # number of shapes in each leaf; 0 for inner nodes
    int64_t nodes
    Motion motion

ctypedef struct Sensor:
    const void* lower           # lower corner of a box, or center of a ball
    const void* upper           # upper corner of a box, or radius of a ball
    bint ball
    const uint8_t* watched
    const uint8_t* alive        # per body: 1 if active; NULL: all are active
    EventSource* events

# Corrects bodies `first` to `last` after a step. Constraints between bodies always get the whole range. before:
# positions before the step; delta_v: velocity change by its forces; s: Verlet's previous positions, or NULL; owner:
# argument of Look.
ctypedef int (*ConstraintFunction)(
    ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride,
    const void* before, const void* delta_v, void* x, void* v, void* s, const void* data,
    void* owner,
) noexcept nogil

ctypedef struct ConstraintCall:
    ConstraintFunction function
    ConstraintKind kind
    const void* data
    EventSource* events                  # event recorder; NULL: no events
    int64_t reports  # index of the constraint whose events are reported at this position of the order

cdef enum:
    TESTS = 2_000_000       # distance tests between two Ctrl-C checks, some milliseconds

# Result of a pair search: complete; more pairs than fit; interrupted by Ctrl-C.
cdef enum Found:
    ALL
    CROWD
    GIVEN_UP

# Pair searches of broad_phase.pxd: FindAmongFew tests all pairs of a few bodies; FindAlike searches the grid, if all
# bodies are of one size class.
ctypedef void (*FindAmongFew)(
    int dim, int64_t n, int64_t stride, const void* x, const void* data, const void* like,
) noexcept nogil
ctypedef Found (*FindAlike)(int64_t dim, int64_t n, const void* data, void* owner, const void* like) noexcept nogil

ctypedef struct Collisions:
    Torus torus
    FindAmongFew find_among_few
    FindAlike find_uniform
    const void* radius
    const void* weight
    Each restitution
    Each friction               # friction coefficients; `number` is NULL if there is no friction
    double lag                  # steps by which stored velocities are behind positions: -0.5, 0 or 0.5
    const uint64_t* category    # collision category bits of each body; NULL: all bodies collide
    const uint64_t* mask_bits
    const uint8_t* sensor       # per body: 1 for sensors, which record events without impulses; NULL: none
    EventSource* events                  # event recorder; NULL: no events
    Spin spin
    bint swept                  # True: continuous collision detection
    # For continuous collision detection: workspace, and arguments of the pair search by swept volumes.
    void* since                 # per body: seconds from the start of its current straight path to the end of the step
    void* earliest              # per body: seconds from its first contact in a round to the end of the step
    int64_t* which              # per body: index in `partner` of the pair of that first contact, or -1
    int32_t* last               # per body: partner of its last contact in this step, or -1
    void* time                  # per pair: seconds from its contact to the end of the step, or 0
    void* middle                # center of the path of each body
    void* extent                # radius of the swept volume of each body: radius + half its path
    uint8_t* swept_class          # size class of each swept volume
    const void* swept_x        # positions of swept bodies, with velocities, radii and timestep; NULL: static search
    const void* swept_v
    const void* swept_radius
    int64_t swept_stride
    double swept_h
    int64_t iterations
    uint8_t* moved              # mask of the bodies that collisions moved since the walls were last solved
    int64_t walls               # number of walls, which are solved again for bodies that collisions push into them
    const ConstraintCall* wall
    int64_t classes             # number of size classes of bodies with a radius; class 0 has the largest bodies
    bint points                 # True if any body has radius 0
    const uint8_t* size_class   # size class of each body
    # 1 / cell width of each size class. Cells exceed the reach of all pairs whose larger body is in the class.
    double per_cell[MOST_CLASSES]
    uint64_t mask               # number of buckets - 1 (a power of 2 less one)
    uint64_t step[3]            # hash step along each axis, in buckets
    int64_t rows                # number of rows of three cells that form the neighbourhood of a cell
    uint64_t row[MOST_ROWS]     # hash offset from a cell to the first cell of each row
    # Periodic only: cells per axis and inverse cell width, per size class (replaces step and row).
    int64_t cells[3 * MOST_CLASSES]
    double per_width[3 * MOST_CLASSES]
    # Workspace.
    int32_t* start              # first slot of each bucket
    uint64_t* filters           # per bucket: combined collision filters of its bodies, see `filter_of`; or NULL
    uint32_t* bucket            # bucket of each body
    int32_t* body               # bodies sorted by bucket, then by index: a slot is a position in this order
    void* place                 # positions (component by component) and radii in slot order
    int64_t* begin              # offset of each body's partners in `partner`
    int32_t* count              # number of each body's partners
    int32_t* partner
    int32_t* next               # first unprocessed slot of each bucket
    int32_t* lower              # lower body index of each pair as found
    int32_t* higher             # higher body index of each pair as found
    Look look

# Kinds of a sweep over blocks of contacts.
cdef enum:
    BEGIN           # set up the contacts between bodies
    RESUME          # warm start by impulses of the last step
    WARM            # warm start by impulses of the last substep, along current normals
    SOLVE           # update each impulse once (one iteration)

# Contacts that a sweep solves.
cdef enum:
    ALL_CONTACTS
    IMPULSIVE_ONES  # contacts whose warm-start impulse exceeds that of a sustained load: it comes from an impact
    SUSTAINED_ONES  # all contacts except the impulsive ones

ctypedef struct Sweep:
    int kind
    int64_t dim
    bint alone      # True: solve one contact at a time, because contacts of a block may share bodies
    bint events       # True if events are recorded
    double h        # duration of a substep, s
    bint extra      # True: an extra iteration, for islands with deep contacts only
    int only        # which contacts the sweep solves, see ALL_CONTACTS
    double soft, scale
    double left     # time to the end of the step, s
    double given    # number of substeps whose forces the velocities already contain
    double count    # number of substeps
    double behind     # lag of velocities behind positions before the step, in substeps

# Sweeps blocks first to last of `lanes` contacts each; True if any contact is deep. See constraints/contact_lanes.pxd.
ctypedef bint (*Press)(const void* contacts, const Sweep*, int64_t first, int64_t last, const void* like) noexcept nogil

ctypedef struct Contacts:
    Collisions grid             # pair search (radius, weight, partners), event recorder and Ctrl-C check
    const void* restitution     # restitution of each body
    const void* friction
    int64_t faces               # number of wall faces; each has a normal, an offset, and a friction per body
    const void* normal
    const void* offset
    const void* wall_friction
    const void* wall_belt       # belt of each wall, as in Wall; or NULL
    const uint8_t* through    # filter code per wall and body: 0 collides, 1 sensor, 2 passes through; NULL: all collide
    int64_t parts               # number of Shapes structs; shapes are numbered consecutively over all structs
    const Shapes* shapes        # Shapes structs; their `wall.sensor` has the filter codes that walls have in `through`
    bint moves                  # True if any shape moves
    Shapes level  # tree whose leaves are the Shapes structs; `reach`: per body, the largest of all structs
    const int64_t* shape_begin  # number of the first shape of each Shapes struct, then the number of all shapes
    const int32_t* part         # index of the Shapes struct of each shape
    const void* shape_friction  # friction per Shapes struct and body
    void* lack                  # of each body: the integrator's displacement minus that of the substeps
    int64_t n                   # number of bodies
    int64_t lanes               # contacts solved at once (lanes of a vector)
    Press press
    int64_t rods
    const int32_t* rod_first
    const int32_t* rod_second
    const void* length
    const void* compliance
    const int32_t* number       # declaration index of each rod whose bodies both exist
    const void* lower           # limits; NULL if no rod has any
    const void* upper
    const LoadCell* cell
    bint saves_loads            # True if snapshots contain the load of any rod, that is, if any rod has breaks_at
    void* load                  # load of each rod in this step, N
    int64_t declared
    int64_t sweeps              # number of sweeps over all rods in each substep
    const void* stiffness
    int64_t substeps
    double lag
    double last_h               # see `span_of` in loads.pxd
    bint sleep                  # True: islands that hardly move sleep, that is, their bodies are not moved
    uint8_t* rested             # mask of the bodies that were at rest in the last step
    # Data of the last step: positions before it, velocity changes by forces, and the integrator's positions and
    # velocities.
    void* last
    uint8_t* held  # per island: 1 if this step would repeat the last one, so that its contacts are not solved
    uint8_t* moved              # mask of the bodies whose velocity or angular velocity impulses can change
    # Persistent state, double-buffered: see kickdrift/rollback/impulses.py.
    int64_t* state
    int32_t* pair[2]
    void* push[2]
    void* pull[2]
    # Workspace.
    # Velocity and position of each body and each wall, one row for all shapes, and a dummy row, to which results are
    # stored that nothing reads.
    void* body
    # TRAITS numbers per body: radius, inverse mass, friction, restitution, and delta_v by forces.
    void* traits
    # SPIN numbers per rotating body: angular velocity, and from number 4 on radius, 1/I, rolling resistance and
    # rolling radius (the radius; infinite for walls).
    void* spin
    void* twist                 # TWIST numbers per contact of rotating bodies, in blocks like `contact`
    const void* rolling         # coefficient of rolling resistance of each body; NULL: 0
    int64_t axes                # components of an angular velocity; 0 if nothing rotates
    void* surface               # surface velocity of each contact with a wall or shape, MAX_DIM vectors; or NULL
    int32_t* one                # first body of each contact; contacts are sorted by their two bodies
    int32_t* other
    uint8_t* colour
    int32_t* known              # index of each contact's impulse of the last step; < 0: none
    int32_t* place              # index of each contact in solve order: by colour, each colour padded to whole blocks
    int32_t* first              # first body of each contact, in solve order
    int32_t* second
    int32_t* first_row          # row to store the first body's new velocity to; the dummy row if the body is immovable
    int32_t* second_row
    # Contacts in blocks of `lanes`: structure of arrays within a block.
    void* contact
    void* contact_event         # per contact in solve order, if events are enabled: time, speed, impulse, point, normal
    # Counts: [0] contacts; [1] solve-order indices (with padding, without sensors); [2] contacts with shapes; [3]
    # solve-order indices of coloured contacts, whose blocks share no body; [4] contacts whose surface left the body.
    int64_t* found
    int32_t* shape_contacts            # indices of the contacts with shapes
    void* rod
    int32_t* group  # island of each body; contacts and rods connect islands, but not through immovable bodies
    uint8_t* deep               # per island: 1 if it has deep contacts; at the end of the step, 1 if it is awake
    uint64_t* taken             # per body: bit mask of the graph colours that its contacts use
    uint8_t* touched

# Solver of corners: bodies that touch several faces of walls. A face has the coefficients, filter and belt of its wall.
ctypedef struct Corners:
    int64_t faces
    const void* normal
    const void* offset
    const Wall** wall           # of each face
    const void* weight
    double lag
    const int64_t* number       # number of each face in recorded events
    # Workspace: the faces that any body of a vector touches. Per face: one vector of masks (> 0 for bodies that touch
    # it), one of offsets plus radii, and two of impulses.
    int32_t* face
    void* there
    void* size
    void* push
